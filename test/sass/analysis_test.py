"""The analysis of early_reads.py on kernels of a few instructions, as cuobjdump prints them."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import early_reads  # noqa: E402

B = 0x218  # where the pointer to B lies in the constant bank of these kernels; A's lies at 0x210


def function(text: str) -> early_reads.Function:
    """From instructions, one per line; a branch target is written as the label before its line."""
    lines = [line.strip() for line in text.strip().splitlines()]
    labels, rows = {}, []
    for line in lines:
        if line.endswith(":"):
            labels[line[:-1]] = f"{16 * len(rows):#x}"
        else:
            rows.append(line)
    printed = ["\tcode for sm_90", "\t\tFunction : kernel", '\t.headerflags\t@"EF_CUDA_SM90"']
    for i, row in enumerate(rows):
        for label, address in labels.items():
            row = row.replace(label, address)
        printed += [f"        /*{16 * i:04x}*/                   {row} ;      /* 0x0 */", " " * 94 + "/* 0x0 */"]
    made = list(early_reads.functions(printed))
    return made[0] if made else early_reads.Function("kernel", 90, [])


def early(text: str) -> list[str]:
    return [access.text for access in early_reads.accesses_before_the_wait(function(text))]


def through_b(text: str) -> list[str]:
    return [load.text for load, name in early_reads.loads_through(function(text), {B: "b"})]


class BeforeTheWait(unittest.TestCase):
    def test_what_is_after_it_may_be_anything(self):
        self.assertEqual(early("""
            LDG.E.CONSTANT R2, desc[UR4][R2.64]
            ACQBULK
            LDG.E R4, desc[UR4][R4.64]
            STG.E desc[UR4][R6.64], R4
            EXIT"""), [])

    def test_a_plain_load_is_found(self):
        self.assertEqual(early("""
            LDG.E R4, desc[UR4][R4.64]
            ACQBULK
            EXIT"""), ["LDG.E R4, desc[UR4][R4.64]"])

    def test_every_access_is_found_and_what_is_the_threads_own_is_not(self):
        accesses = ["LDG.E.64 R4, desc[UR4][R4.64]", "LD.E R9, desc[UR20][R4.64]", "STG.E desc[UR4][R6.64], R4",
                    "ST.E desc[UR20][R16.64], R19", "REDG.E.ADD.F32 desc[UR16][R8.64], R11",
                    "ATOMG.E.ADD PT, R4, desc[UR4][R6.64], R4", "LDGSTS.E [R43+0x780], desc[UR12][R26.64]",
                    "UBLKCP.S.G [UR8], [UR10], UR12", "CCTL.E.PF2 [R4]", "NEWOP.E R4, [R6.64]"]
        own = ["LDC.64 R2, c[0x0][0x210]", "ULDC UR4, c[0x0][0x28c]", "LDS.128 R4, [R3+UR4]", "STS [R13], R12",
               "STL [R1+0x4], R6", "LDL.LU R6, [R1+0x4]", "ATOMS.ADD R4, [R3], R4", "LDC R3, c[0x0][R4+0x210]",
               "IMAD R2, R3, c[0x0][0x220], R4", "LDG.E.128.CONSTANT R4, desc[UR4][R2.64+0x10]"]
        self.assertEqual(early("\n".join([*own, *accesses, "ACQBULK", "EXIT"])), accesses)

    def test_a_load_on_one_branch_only_is_found(self):
        self.assertEqual(early("""
            ISETP.GT.AND P0, PT, R2, R3, PT
            @P0 BRA .over
            LDG.E R4, desc[UR4][R4.64]
            .over:
            ACQBULK
            EXIT"""), ["LDG.E R4, desc[UR4][R4.64]"])

    def test_a_branch_past_the_wait_is_found(self):
        self.assertEqual(early("""
            ISETP.GT.AND P0, PT, R2, R3, PT
            @P0 BRA .over
            ACQBULK
            .over:
            LDG.E R4, desc[UR4][R4.64]
            EXIT"""), ["LDG.E R4, desc[UR4][R4.64]"])

    def test_a_wait_under_a_predicate_is_none(self):
        self.assertEqual(early("@P0 ACQBULK\nLDG.E R4, desc[UR4][R4.64]\nEXIT"), ["LDG.E R4, desc[UR4][R4.64]"])

    def test_a_load_under_a_predicate_is_found(self):
        self.assertEqual(early("@!P3 LDG.E R4, desc[UR4][R4.64]\nACQBULK\nEXIT"), ["@!P3 LDG.E R4, desc[UR4][R4.64]"])

    def test_loads_ahead_of_it_are_counted(self):
        self.assertEqual(early_reads.loads_ahead_of_the_wait(function("""
            LDG.E.CONSTANT R2, desc[UR4][R2.64]
            @!P0 LDG.E.128.CONSTANT R8, desc[UR4][R2.64]
            ACQBULK
            LDG.E.CONSTANT R4, desc[UR4][R4.64]
            LDG.E R4, desc[UR4][R6.64]
            EXIT""")), 2)

    def test_loops_are_followed(self):
        loop = """
            .again:
            {first}
            ISETP.GT.AND P0, PT, R2, R3, PT
            {second}
            @P0 BRA .again
            EXIT"""
        load = "LDG.E R4, desc[UR4][R4.64]"
        self.assertEqual(early(loop.format(first="ACQBULK", second=load)), [])
        self.assertEqual(early(loop.format(first=load, second="ACQBULK")), [load])

    def test_a_wait_in_the_first_round_of_a_loop_is_one(self):
        # for (index = blockIdx.x; ...) { if (index == blockIdx.x) wait; load; }
        loop = """
            S2UR UR8, SR_CTAID.X
            UMOV UR5, URZ
            UMOV UR4, {first}
            .again:
            S2R R7, SR_CTAID.X
            ISETP.NE.U32.AND P0, PT, R7, UR4, PT
            ISETP.NE.AND.EX P0, PT, RZ, UR5, PT, P0
            @P0 BRA .waited
            ACQBULK
            .waited:
            LDG.E R4, desc[UR4][R4.64]
            UIADD3 UR4, UR4, 0x10, URZ
            ISETP.LT.AND P1, PT, R2, R3, PT
            @P1 BRA .again
            EXIT"""
        self.assertEqual(early(loop.format(first="UR8")), [])
        self.assertEqual(early(loop.format(first="UR9")), ["LDG.E R4, desc[UR4][R4.64]"])

    def test_what_is_known_is_forgotten_where_it_is_written_or_ways_meet(self):
        meet = """
            S2UR UR8, SR_CTAID.X
            S2R R7, SR_CTAID.X
            {between}
            .here:
            ISETP.NE.AND P0, PT, R7, UR8, PT
            @P0 BRA .over
            ACQBULK
            .over:
            STG.E desc[UR4][R6.64], R4
            EXIT"""
        self.assertEqual(early(meet.format(between="MOV R9, R7")), [])
        for between in ("VIADD R7, R7, 0x1", "@P2 MOV R7, R9", "LDG.E.64.CONSTANT R6, desc[UR4][R2.64]",
                        "@P2 BRA .here\nMOV R7, R9"):
            self.assertEqual(early(meet.format(between=between)), ["STG.E desc[UR4][R6.64], R4"], between)

    def test_a_routine_goes_back_to_where_it_was_called(self):
        calls = """
            MOV R6, .first
            CALL.REL.NOINC .routine
            .first:
            {before}
            ACQBULK
            MOV R6, .second
            CALL.REL.NOINC .routine
            .second:
            LDG.E R4, desc[UR4][R4.64]
            EXIT
            .routine:
            {inside}
            RET.REL.NODEC R6 0x0"""
        load = "LDG.E R8, desc[UR4][R8.64]"
        self.assertEqual(early(calls.format(before="NOP", inside="NOP")), [])
        self.assertEqual(early(calls.format(before=load, inside="NOP")), [load])
        self.assertEqual(early(calls.format(before="NOP", inside=load)), [load])

    def test_reunions_are_gone_to(self):
        self.assertEqual(early("""
            BSSY B0, .joined
            @P0 BRA .else
            BSYNC B0
            .else:
            ACQBULK
            BSYNC B0
            .joined:
            STG.E desc[UR4][R6.64], R4
            EXIT"""), ["STG.E desc[UR4][R6.64], R4"])

    def test_a_jump_to_who_knows_where_may_go_anywhere(self):
        self.assertEqual(early("""
            BRX R2 -0x10
            ACQBULK
            STG.E desc[UR4][R6.64], R4
            EXIT"""), ["STG.E desc[UR4][R6.64], R4"])

    def test_what_cannot_be_followed_is_said(self):
        for text in ("ACQBULK\nBRA 0x5000", "NOP\nCALL.ABS 0x10\nACQBULK", "NOP\nCALL.REL.NOINC 0x0\nACQBULK",
                     "RET.REL.NODEC R6 0x0\nACQBULK"):
            with self.assertRaises(early_reads.Unclear):
                early(text)


class Pointers(unittest.TestCase):
    def test_an_address_is_followed_to_its_pointer(self):
        load = "LDG.E.CONSTANT R9, desc[UR4][R8.64]"
        for lines in ("LDC.64 R8, c[0x0][0x218]",
                      "LDC.64 R2, c[0x0][0x218]\nIMAD.WIDE.U32 R8, R5, R4, R2",
                      "ULDC.64 UR6, c[0x0][0x218]\nLEA R8, P0, R5, UR6, 0x2\nLEA.HI.X R9, R5, UR7, R6, 0x2, P0",
                      "IADD3 R8, P0, R5, c[0x0][0x218], RZ\nIADD3.X R9, R6, c[0x0][0x21c], RZ, P0, !PT",
                      "IMAD.WIDE R8, R5, 0x4, c[0x0][0x218]",
                      "LDC.64 R2, c[0x0][0x218]\nSTL.64 [R1+0x8], R2\nLDC.64 R2, c[0x0][0x210]\nLDL.64 R8, [R1+0x8]",
                      "LDC.64 R8, c[0x0][0x210]\n@P0 LDC.64 R8, c[0x0][0x218]"):
            self.assertEqual(through_b(f"ACQBULK\n{lines}\n{load}\nEXIT"), [load], lines)
        for lines in ("LDC.64 R8, c[0x0][0x210]",
                      "LDC.64 R8, c[0x0][0x218]\nLDC.64 R8, c[0x0][0x210]",
                      "LDC.64 R2, c[0x0][0x218]\nLDG.E R3, desc[UR4][R2.64]\nIMAD.WIDE R8, R3, 0x4, c[0x0][0x210]",
                      "@P0 LDC.64 R8, c[0x0][0x218]\nLDC.64 R8, c[0x0][0x210]",
                      "LDC.64 R4, c[0x0][0x218]\nIMAD.WIDE.U32 R8, R5, 0x10, R2",
                      "LDC.64 R4, c[0x0][0x218]\nFADD R4, R4, R4\nIADD3 R8, P0, R4, R2, RZ"):
            self.assertEqual(through_b(f"ACQBULK\n{lines}\n{load}\nEXIT"), [], lines)

    def test_a_load_that_was_moved_before_the_wait_is_found(self):
        load = "LDG.E.CONSTANT R9, desc[UR4][R8.64]"
        text = f"LDC.64 R8, c[0x0][0x218]\n{load}\nACQBULK\nEXIT"
        self.assertEqual(early(text), [])  # which looks like one of A
        self.assertEqual(through_b(text), [load])

    def test_pointers_go_round_loops(self):
        load = "LDG.E.CONSTANT R9, desc[UR4][R8.64]"
        self.assertEqual(through_b(f"""
            ACQBULK
            LDC.64 R8, c[0x0][0x210]
            .again:
            {load}
            IMAD.WIDE R8, R5, 0x4, c[0x0][0x218]
            @P0 BRA .again
            EXIT"""), [load])

    def test_what_was_written_under_a_predicate_is_known_where_all_ways_know_it(self):
        text = """
            LDC.64 R8, c[0x0][0x218]
            @!P3 LDC.64 R8, c[0x0][0x210]
            @P1 BRA there
            {between}
        there:
            @!P3 LDG.E.CONSTANT R4, desc[UR4][R8.64]
            EXIT"""
        load = "@!P3 LDG.E.CONSTANT R4, desc[UR4][R8.64]"
        self.assertEqual(through_b(text.format(between="MOV R7, R6")), [])
        self.assertEqual(through_b(text.format(between="ISETP.EQ.AND P3, PT, R2, R3, PT")), [load])
        self.assertEqual(through_b(text.format(between="LDC.64 R8, c[0x0][0x218]")), [load])

    def test_a_predicate_that_is_a_copy_sees_what_was_written_under_the_other(self):
        text = """
            ULDC.64 UR8, c[0x0][0x218]
            PLOP3.LUT P2, PT, PT, PT, UP0, 0x80, 0x0
            @!UP0 ULDC.64 UR8, c[0x0][0x210]
            {between}
            @!P2 IMAD.WIDE.U32 R4, R11, R74, UR8
            @!P2 LDG.E.CONSTANT R5, desc[UR4][R4.64]
            EXIT"""
        load = "@!P2 LDG.E.CONSTANT R5, desc[UR4][R4.64]"
        self.assertEqual(through_b(text.format(between="NOP")), [])
        self.assertEqual(through_b(text.format(between="ISETP.EQ.AND P2, PT, R2, R3, PT")), [load])
        self.assertEqual(through_b(text.format(between="VOTEU.ANY UP0, P3")), [load])

    def test_who_comes_by_a_branch_sees_what_was_written_under_its_predicate(self):
        way = """
            LDC.64 R8, c[0x0][0x218]
            @!P5 LDC.64 R8, c[0x0][0x210]
            @!P5 BRA there
            {}
        there:
            LDG.E.CONSTANT R4, desc[UR4][R8.64]
            EXIT"""
        self.assertEqual(through_b(way.format("LDC.64 R8, c[0x0][0x210]")), [])
        self.assertEqual(through_b(way.format("MOV R7, R6")), ["LDG.E.CONSTANT R4, desc[UR4][R8.64]"])

    def test_who_stands_under_one_predicate_sees_what_was_written_under_it(self):
        text = """
            LDC.64 R8, c[0x0][0x218]
            @!P0 LDC.64 R8, c[0x0][0x210]
            {between}
            {load}
            ACQBULK
            EXIT"""
        same, other = (f"@{p} LDG.E.CONSTANT R5, desc[UR4][R8.64]" for p in ("!P0", "P0"))
        self.assertEqual(through_b(text.format(between="NOP", load=same)), [])
        self.assertEqual(through_b(text.format(between="NOP", load=other)), [other])
        self.assertEqual(through_b(text.format(between="ISETP.EQ.AND P0, PT, R2, R3, PT", load=same)), [same])


if __name__ == "__main__":
    unittest.main()
