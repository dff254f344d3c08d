"""What a kernel that begins early touches before it waits, read from its SASS as cuobjdump prints it.

A kernel started with programmatic stream serialization runs while the one before it may still write. Until the wait
(cudaGridDependencySynchronize, ACQBULK in SASS) it may load by the non-coherent path (LDG with .CONSTANT) what nobody
writes, ask L2 for anything, and touch shared memory, local memory and the constant bank, which are its own. Two things
are proved of each:

 1. No path from the entry reaches any other access to memory without the wait. Every instruction with an address counts
    as one, except those known to be harmless. Where control flow cannot be followed (BRX, JMX) anything may come
    next. A kernel may wait in the first round of a loop, where its index is still blockIdx.x, so values known to be
    equal are followed, too.
 2. No LDG with .CONSTANT, before the wait or after it, has an address made from a pointer that is not A's. This follows
    the pointers of the kernel's arguments from register to register, and to where they are spilled; what is loaded from
    memory, multiplied, shifted or a floating-point number is no pointer.
"""
import collections
import dataclasses
import re

LINE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
FUNCTION = re.compile(r"\s*Function : (\S+)")
ARCH = re.compile(r"\s*code for sm_(\d+)")
INSTRUCTION = re.compile(r"(?:@(!?U?P[0-9T]+)\s+)?([A-Z][A-Z0-9_.]*)\s*(.*)")
CONSTANT_BANK = re.compile(r"c[x]?\[[^\]]*\]\[(0x[0-9a-f]+|[^\]]*)\]")
DESCRIPTOR = re.compile(r"desc\[[^\]]*\]")
REGISTER = re.compile(r"\b(U?R)(\d+)\b")
PREDICATE = re.compile(r"\bU?P\d\b")
PREDICATE_COPY = re.compile(r"(P\d), PT, PT, PT, (UP\d), 0x80, 0x0")  # of PLOP3: the first is the second
PREDICATE_ALONE = re.compile(r"!?U?P[0-9T]+")
TARGET = re.compile(r"\b0x([0-9a-f]+)\b")
SPILL = re.compile(r"\[R1(?:\+(0x[0-9a-f]+))?\]")

WAIT = "ACQBULK"
# Accesses to shared memory, local memory and the constant bank; and prefetches into L2, where all stores of other kernels
# arrive, so that a later load sees them.
HARMLESS = {"LDC", "LDCU", "ULDC", "LDS", "LDSM", "STS", "STSM", "ATOMS", "LDL", "STL", "SYNCS", "UBLKPF"}
# Accesses, whether or not their address is written in brackets.
HARMFUL = {"LD", "LDG", "LDGSTS", "LDGMC", "ST", "STG", "ATOM", "ATOMG", "RED", "REDG", "REDAS", "STAS", "CCTL", "CCTLL",
           "UBLKCP", "UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "SULD", "SUST", "SUATOM", "SURED",
           "TEX", "TLD", "TLD4", "TMML", "TXD"}
ENDS = {"EXIT", "KILL", "RTT"}
UNKNOWN_JUMPS = {"BRX", "BRXU", "JMX", "JMXU"}
# Their result is a number, not an address.
NUMBERS = ("FADD", "FMUL", "FFMA", "FSEL", "FMNMX", "FCHK", "DADD", "DMUL", "DFMA", "HADD2", "HMUL2", "HFMA2", "HMMA", "DMMA",
           "MUFU", "I2F", "F2I", "F2F", "POPC", "S2R", "S2UR", "CS2R", "VOTE", "MATCH", "REDUX")
# Where the first operand is a predicate, no register is written.
COMPARISONS = {"ISETP", "UISETP", "FSETP", "DSETP", "HSETP2", "PLOP3", "UPLOP3", "VOTE", "VOTEU", "R2P", "BRA"}
LOADS = {"LDG", "LD", "LDS", "LDSM", "LDC", "LDCU", "ULDC", "ATOM", "ATOMG", "ATOMS", "LDGMC"}
STORES = {"STG", "ST", "STS", "STSM", "RED", "REDG", "LDGSTS"}


class Unclear(Exception):
    """The control flow is of a kind that this analysis does not understand."""


class Instruction:
    __slots__ = ("address", "text", "predicate", "opcode", "base", "operands", "conditional")

    def __init__(self, address: int, text: str, predicate: str | None, opcode: str, operands: str):
        self.address, self.text, self.predicate, self.operands = address, text, predicate, operands
        self.opcode = opcode  # with all its parts: LDG.E.64.CONSTANT
        self.base = opcode.split(".", 1)[0]
        self.conditional = predicate is not None and predicate not in ("PT", "UPT")

    def is_wait(self) -> bool:
        return self.base == WAIT

    def is_lasting_load(self) -> bool:
        return self.base == "LDG" and ".CONSTANT" in self.opcode

    def is_access(self) -> bool:
        """Whether it accesses memory that others write, which must not happen before the wait."""
        if self.base in HARMLESS or self.is_lasting_load():
            return False
        if self.base in HARMFUL:
            return True
        return "[" in DESCRIPTOR.sub("[", CONSTANT_BANK.sub("", self.operands))


@dataclasses.dataclass
class Function:
    name: str
    arch: int
    code: list[Instruction]

    def waits(self) -> bool:
        return any(instruction.is_wait() for instruction in self.code)


def functions(lines, wanted=lambda name: True):
    """The functions of cuobjdump's output, one after the other; of those not wanted, only the ones with a wait."""
    arch, name, rows = 0, None, []

    def finished():
        if name is not None and (wanted(name) or any(WAIT in row for row in rows)):
            yield Function(name, arch, [parsed(row) for row in rows])

    for line in lines:
        if line[8:10] == "/*":
            rows.append(line)
        elif "Function :" in line:
            yield from finished()
            name, rows = FUNCTION.match(line)[1], []
        elif "code for sm_" in line:
            yield from finished()
            arch, name, rows = int(ARCH.match(line)[1]), None, []
    yield from finished()


def parsed(line: str) -> Instruction:
    row = LINE.match(line)
    parts = INSTRUCTION.match(row[2]) if row else None
    if not parts:
        raise Unclear(f"not an instruction: {line.strip()}")
    return Instruction(int(row[1], 16), row[2], parts[1], parts[2], parts[3])


Place = tuple[int, tuple[int, ...]]  # an instruction's number, and the return addresses of the calls that led to it


class Flow:
    """Where control goes from each instruction of a function."""

    def __init__(self, function: Function):
        self.code = function.code
        self.number = {instruction.address: i for i, instruction in enumerate(self.code)}
        # BSYNC goes to where the BSSY of its barrier says: nearly always the instruction after it.
        self.reunions = collections.defaultdict(set)
        self.entered = {0}  # where a straight run of instructions may begin
        for i, instruction in enumerate(self.code):
            if instruction.base == "BSSY":
                self.reunions[instruction.operands.split(",")[0].strip()].add(self.target(instruction))
            if instruction.base in ("BRA", "JMP", "BSYNC", "CALL", "RET", *ENDS):
                self.entered.add(i + 1)
            if instruction.base in ("BRA", "JMP", "BSSY", "WARPSYNC", "CALL") and TARGET.search(instruction.operands):
                self.entered.add(self.target(instruction))
                if instruction.base == "WARPSYNC":
                    self.entered.add(i + 1)

    def target(self, instruction: Instruction) -> int:
        found = TARGET.findall(CONSTANT_BANK.sub("", instruction.operands))
        if not found or int(found[-1], 16) not in self.number:
            raise Unclear(f"no target within the function: {instruction.text}")
        return self.number[int(found[-1], 16)]

    def next(self, place: Place, taken: bool | None = None) -> list[Place]:
        """Where control may go from an instruction; `taken`: what its predicate is, if that is known."""
        i, calls = place
        instruction = self.code[i]
        behind = [(i + 1, calls)]
        if taken is None and not instruction.conditional:
            taken = True
        if taken is False:
            goes = behind
        elif taken is True:
            goes = self.onward(i, calls)
        else:
            goes = [*behind, *self.onward(i, calls)]
        return [place for place in dict.fromkeys(goes) if place[0] < len(self.code)]

    def onward(self, i: int, calls: tuple[int, ...]) -> list[Place]:
        """The same where the instruction is carried out."""
        instruction = self.code[i]
        base, behind = instruction.base, (i + 1, calls)
        if base in ENDS:
            return []
        if base in UNKNOWN_JUMPS:
            return [(k, calls) for k in range(len(self.code))]
        if base in ("BRA", "JMP"):
            target = (self.target(instruction), calls)
            always = instruction.opcode in ("BRA", "JMP") and not re.search(r"\bU?P\d", instruction.operands)
            return [target] if always else [behind, target]
        if base == "WARPSYNC" and TARGET.search(instruction.operands):
            return [behind, (self.target(instruction), calls)]
        if base == "BSYNC":
            reunions = self.reunions[instruction.operands.strip()]
            return [behind] if i + 1 in reunions else [behind, *((k, calls) for k in reunions)]
        if base == "CALL":
            if len(calls) == 8:
                raise Unclear(f"calls within calls: {instruction.text}")
            return [(self.target(instruction), (*calls, self.return_of(i)))]
        if base == "RET":
            if not calls:
                raise Unclear(f"a return from no call: {instruction.text}")
            return [(calls[-1], calls[:-1])]
        return [behind]

    def return_of(self, call: int) -> int:
        """Where the routine returns to: the address put into a register before."""
        if ".REL" not in self.code[call].opcode:
            raise Unclear(f"a call to somewhere else: {self.code[call].text}")
        wanted = f"{self.code[call].address + 0x10:#x}"
        # Not always right before the call: for one in a loop it is put there before the loop.
        for instruction in self.code:
            if instruction.base in ("MOV", "IMAD", "UMOV") and re.search(rf"(?<![\w\]]){wanted}\b", instruction.operands):
                return call + 1
        raise Unclear(f"a call that may return anywhere: {self.code[call].text} at {self.code[call].address:#x}")


# --- What is reached before the wait --------------------------------------------------------------------------------


class Known:
    """What registers and predicates are known to hold: a number, or the name of what is constant for a thread."""

    def __init__(self, held: dict | None = None):
        self.held = held if held is not None else {}

    def value(self, operand: str):
        operand = operand.strip().removesuffix(".reuse")
        if operand in ("RZ", "URZ", "SRZ"):
            return 0
        if operand in ("PT", "UPT", "!PT", "!UPT"):
            return not operand.startswith("!")
        if re.fullmatch(r"0x[0-9a-f]+", operand):
            return int(operand, 16)
        if operand.startswith("!"):
            known = self.held.get(operand[1:])
            return None if known is None else not known
        return operand if operand.startswith(("SR_CTAID", "SR_TID")) else self.held.get(operand)

    def step(self, instruction: Instruction) -> None:
        base, opcode = instruction.base, instruction.opcode
        operands = [operand.strip() for operand in instruction.operands.split(",")]
        new = {}
        if base in ("S2R", "S2UR", "MOV", "UMOV", "R2UR") and len(operands) == 2:
            new[operands[0]] = self.value(operands[1])
        elif opcode in ("IMAD.MOV.U32", "IMAD.U32") and operands[1:3] == ["RZ", "RZ"]:
            new[operands[0]] = self.value(operands[3])
        elif opcode == "CS2R" and operands[1] == "SRZ":
            new = dict.fromkeys(meaning(instruction)[0], 0)
        elif re.fullmatch(r"U?ISETP\.(EQ|NE)(\.U32)?\.AND(\.EX)?", opcode):
            new[operands[0]] = self.compared(opcode, operands)
        for register in meaning(instruction)[0]:
            self.held.pop(register, None)
        # Whatever predicate an instruction names it may write.
        if base == "R2P":
            for name in [name for name in self.held if "P" in name]:
                del self.held[name]
        for predicate in PREDICATE.findall(instruction.operands):
            self.held.pop(predicate, None)
        if not instruction.conditional:
            self.held |= {name: value for name, value in new.items() if value is not None}

    def compared(self, opcode: str, operands: list[str]) -> bool | None:
        left, right, also = self.value(operands[2]), self.value(operands[3]), self.value(operands[4])
        if left is None or right is None or also is not True:
            return None
        if left != right and not (isinstance(left, int) and isinstance(right, int)):
            return None
        equal = left == right
        if opcode.endswith(".EX"):  # the upper halves; the lower ones are in the last operand
            lower = self.value(operands[5])
            if lower is None:
                return None
            return equal and lower if ".EQ" in opcode else not equal or lower
        return equal if ".EQ" in opcode else not equal

    def meet(self, other: dict) -> bool:
        """Keeps what both know; whether anything was lost."""
        lost = [name for name, value in self.held.items() if other.get(name) != value]
        for name in lost:
            del self.held[name]
        return bool(lost)


def accesses_before_the_wait(function: Function) -> list[Instruction]:
    """The instructions that some path from the entry reaches without the wait."""
    if not function.code:
        raise Unclear("no instructions")
    flow = Flow(function)
    found: dict[int, Instruction] = {}
    at_begin: dict[Place, Known] = {(0, ()): Known()}
    todo = [(0, ())]
    while todo:
        place = todo.pop()
        instruction = function.code[place[0]]
        known = Known(dict(at_begin[place].held))
        taken = known.value(instruction.predicate) if instruction.conditional else True
        if taken is not False:
            if instruction.is_access():
                found[place[0]] = instruction
            if instruction.is_wait() and taken is True:
                continue
            known.step(instruction)
        for behind in flow.next(place, taken):
            if behind not in at_begin:
                at_begin[behind] = Known(dict(known.held))
                todo.append(behind)
            elif at_begin[behind].meet(known.held):
                todo.append(behind)
    return [found[i] for i in sorted(found)]


def loads_ahead_of_the_wait(function: Function) -> int:
    """How many loads of A stand before the first wait."""
    count = 0
    for instruction in function.code:
        if instruction.is_wait():
            break
        count += instruction.is_lasting_load()
    return count


# --- Which pointers reach an address --------------------------------------------------------------------------------

_meanings: dict[str, tuple] = {}  # of an instruction's text


def width_of(opcode: str) -> int:
    if ".128" in opcode or opcode.startswith(("HMMA", "DMMA", "IMMA", "LDSM")):
        return 4
    if opcode.startswith("F2I"):
        return 2 if "64" in opcode.replace("F64", "") else 1
    wide = ".64" in opcode or ".WIDE" in opcode or opcode.startswith(("DADD", "DMUL", "DFMA", "CS2R", "I2F.F64", "F2F.F64"))
    return 2 if wide else 1


def meaning(instruction: Instruction):
    """(registers written, registers read, constants read as (offset, bytes), the registers of its address)."""
    known = _meanings.get(instruction.text)
    if known is not None:
        return known
    base, opcode = instruction.base, instruction.opcode
    operands = [operand.strip() for operand in instruction.operands.split(",")]
    constants = [(int(offset, 16), 4 * width_of(opcode)) for offset in CONSTANT_BANK.findall(instruction.operands)
                 if offset.startswith("0x")]
    if base == "IMAD" and ".WIDE" in opcode and constants and CONSTANT_BANK.search(operands[-1]):
        constants = [(offset, 8) for offset, _ in constants]
    bare = [CONSTANT_BANK.sub("", DESCRIPTOR.sub("", operand)) for operand in operands]
    spill = SPILL.search(instruction.operands) if base in ("LDL", "STL") else None
    written, read, address = [], [], []
    wide = width_of(opcode)
    into = None
    if base not in STORES and base != "STL" and not (base in COMPARISONS and PREDICATE_ALONE.fullmatch(bare[0])):
        # The first register that stands alone; predicates may come before it.
        for k, operand in enumerate(bare):
            whole = re.fullmatch(r"(U?R)(\d+)", operand)
            if whole:
                into = k
                written = [f"{whole[1]}{int(whole[2]) + j}" for j in range(wide)]
                break
            if not PREDICATE_ALONE.fullmatch(operand):
                break
    if spill:
        slot = int(spill[1] or "0", 16)
        places = [f"L{slot + 4 * j}" for j in range(wide)]
        if base == "LDL":
            read = places
        else:
            source = REGISTER.search(bare[-1])
            read = [f"{source[1]}{int(source[2]) + j}" for j in range(wide)] if source else []
            written = places
    elif base.startswith(NUMBERS):
        constants = []
    elif base in LOADS and base not in ("LDC", "LDCU", "ULDC"):
        for operand in bare:
            if "[" in operand:
                for kind, number in REGISTER.findall(operand):
                    # A 64-bit address lies in two registers.
                    pair = kind == "UR" or f"R{number}.64" in operand
                    address += [f"{kind}{int(number) + j}" for j in range(2 if pair else 1)]
    elif base not in ("LDC", "LDCU", "ULDC"):
        sources = [k for k, operand in enumerate(bare) if k != into and not PREDICATE_ALONE.fullmatch(operand)]
        if base in ("IMAD", "UIMAD") and len(sources) >= 3 and "0x1" not in (bare[sources[0]], bare[sources[1]]):
            sources = sources[2:3]  # what is multiplied is an index, and so is what is shifted
        elif base in ("LEA", "ULEA"):
            sources = sources[1:2]
        if len(sources) == 1:
            constants = [word for word in constants if CONSTANT_BANK.search(operands[sources[0]])]
        for k in sources:
            for kind, number in REGISTER.findall(bare[k]):
                read += [f"{kind}{int(number) + j}" for j in range(2 if wide == 2 else 1)]
    known = (tuple(written), tuple(read), tuple(constants), tuple(address))
    _meanings[instruction.text] = known
    return known


def keep_common(there: dict[str, dict[str, int]], under: dict[str, dict[str, int]]) -> bool:
    """Where paths meet, what is written under a predicate is known of the registers that both know: what either holds.
    Returns whether that changes `there`."""
    changed = False
    for predicate, registers in there.items():
        others = under.get(predicate, {})
        for register in list(registers):
            if register not in others:
                del registers[register]
                changed = True
            elif others[register] & ~registers[register]:
                registers[register] |= others[register]
                changed = True
    return changed


def loads_through(function: Function, pointers: dict[int, str]) -> list[tuple[Instruction, str]]:
    """The loads by the non-coherent path whose address comes from one of the pointers, given by where each lies in the
    constant bank."""
    flow = Flow(function)
    code = function.code
    names = sorted(set(pointers.values()))
    bit_at = {}  # of each word of the bank
    for offset, name in pointers.items():
        for word in (offset, offset + 4):
            bit_at[word] = 1 << names.index(name)
    begins = sorted(flow.entered | {i + 1 for i, instruction in enumerate(code) if instruction.base in UNKNOWN_JUMPS})
    if any(instruction.base in UNKNOWN_JUMPS for instruction in code):
        begins = range(len(code))
    begins = [k for k in begins if k < len(code)]
    ends = dict(zip(begins, begins[1:] + [len(code)]))

    # What the walk needs of each instruction.
    steps = []
    for instruction in code:
        written, read, constants, address = meaning(instruction)
        bits = 0
        for offset, size in constants:
            for word in range(offset, offset + size, 4):
                bits |= bit_at.get(word, 0)
        steps.append((written, read, bits, address if instruction.is_lasting_load() else (),
                      instruction.predicate if instruction.conditional else None,
                      tuple(PREDICATE.findall(instruction.operands))))

    at_begin: dict[Place, dict[str, int]] = {(0, ()): {}}
    # What was written last under a predicate, as instructions under the same one see it: [predicate][register].
    under_at_begin: dict[Place, dict[str, dict[str, int]]] = {(0, ()): {}}
    todo = collections.deque(at_begin)
    waiting = set(todo)
    found = {}
    while todo:
        place = todo.popleft()
        waiting.discard(place)
        begin, calls = place
        held = dict(at_begin[place])
        under = {predicate: dict(there) for predicate, there in under_at_begin[place].items()}
        copies: dict[str, str] = {}  # predicates that equal others for now

        def seen_under(predicate: str) -> dict[str, int]:
            name = predicate.lstrip("!")
            original = predicate.replace(name, copies.get(name, name))
            return under.get(original, {}) | under.get(predicate, {})

        for i in range(begin, ends[begin]):
            written, read, bits, address, predicate, predicates = steps[i]
            seen = seen_under(predicate) if predicate is not None and under else None
            for register in read:
                bits |= held.get(register, 0) if seen is None or register not in seen else seen[register]
            if address:
                through = 0
                for register in address:
                    through |= held.get(register, 0) if seen is None or register not in seen else seen[register]
                if through:
                    found[i] = found.get(i, 0) | through
            for name in predicates:
                under.pop(name, None)
                under.pop("!" + name, None)
                copies = {copy: of for copy, of in copies.items() if name not in (copy, of)}
            copied = PREDICATE_COPY.fullmatch(code[i].operands) if code[i].base == "PLOP3" and predicate is None else None
            if copied:
                copies[copied[1]] = copied[2]
            for register in written:
                for others in under.values():
                    others.pop(register, None)
                if predicate is not None:
                    if predicate.lstrip("!") not in predicates:
                        under.setdefault(predicate, {})[register] = bits
                    if bits:
                        held[register] = held.get(register, 0) | bits
                elif bits:
                    held[register] = bits
                else:
                    held.pop(register, None)
        last = code[ends[begin] - 1]
        for behind in flow.next((ends[begin] - 1, calls)):
            arrives = held
            if last.conditional and last.base in ("BRA", "JMP", "EXIT") and not PREDICATE.search(last.operands):
                # On this path the branch's predicate is known, and so is what was written under it.
                went_on = behind[0] == ends[begin] and last.base != "EXIT" and flow.target(last) == behind[0]
                negated = last.predicate[1:] if last.predicate.startswith("!") else "!" + last.predicate
                certain = {} if went_on else seen_under(negated if behind[0] == ends[begin] else last.predicate)
                arrives = {register: bits for register, bits in (held | certain).items() if bits}
            if behind not in at_begin:
                at_begin[behind], changed = dict(arrives), True
                under_at_begin[behind] = {predicate: dict(there) for predicate, there in under.items() if there}
            else:
                there = at_begin[behind]
                changed = keep_common(under_at_begin[behind], under)
                for register, bits in arrives.items():
                    if bits & ~there.get(register, 0):
                        there[register] = there.get(register, 0) | bits
                        changed = True
            if changed and behind not in waiting:
                waiting.add(behind)
                todo.append(behind)
    return [(code[i], name) for i in sorted(found) for k, name in enumerate(names) if found[i] >> k & 1]


def forget() -> None:
    """Forgets former functions."""
    _meanings.clear()
