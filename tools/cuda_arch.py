"""Prints the compute capabilities to build for, comma-separated: those of the GPUs present, else 90.

Only 80 and later count: the kernels copy asynchronously.
"""
import subprocess

try:
    out = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
                         capture_output=True, text=True, timeout=60, check=True).stdout
    present = sorted({int(line.replace(".", "")) for line in out.split()})
except (OSError, subprocess.SubprocessError, ValueError):
    present = []
print(",".join(map(str, [a for a in present if a >= 80] or [90])))
