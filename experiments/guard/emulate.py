"""Compares guards with CAKE in an emulated computer: measure.py ``--emulated`` in Debian's kernel.

::

    make linux
    python experiments/guard/emulate.py --links subway bus --job out/guard/emulated
    python experiments/guard/measure.py --first 0     # writes the tables

The emulated computer (``python/tests/linux.py``) has a clock of its own, in which an instruction takes one
nanosecond: the load of this machine does not change what is measured. Its first sessions wait for files of
this machine and fail, hence several attempts. Finished cells are kept in the folder `cells` of the job, and
the file `console` there has the progress.
"""

import argparse
import runpy
import shlex
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LINUX = ROOT / "python" / "tests" / "linux.py"
# libcrc32c needs crc32c_generic, which `depends` of its file does not name.
MODULES = ("crc32c_generic", "sch_cake", "nf_tables", "nft_masq", "nft_chain_nat", "cls_bpf", "sch_ingress")
# In the computer's memory.
CELLS = "/root/cells"
SCRIPT = """\
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /.job/cells && cp -r /.job/cells {cells}
cd {root}
for attempt in 1 2 3 4 5; do
    {{ {measure} 2>&1; echo $? > /root/code; }} | cat > /dev/console # a pipe: no progress bar
    code=$(cat /root/code)
    echo "attempt $attempt: exit code $code, at $(date)" > /dev/console
    cp -r {cells} /.job
    [ $code = 0 ] && break
done
exit $code
"""


def main() -> None:
    """Boot the computer and measure in it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--links", nargs="+", default=["walking", "driving", "loaded", "subway", "bus"])
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--job", type=Path, required=True, help="folder of this boot, with its cells")
    options = parser.parse_args()
    measure = [sys.executable, str(HERE / "measure.py"), "--emulated", "--links", *options.links]
    measure += ["--repetitions", str(options.repetitions), "--parallel", "1", "--out", CELLS]
    measure += ["--airwnd", f"{sys.executable} -I -m airwnd"]
    options.job.mkdir(parents=True, exist_ok=True)
    (options.job / "code").unlink(missing_ok=True)
    script = SCRIPT.format(root=shlex.quote(str(ROOT)), measure=shlex.join(measure), cells=CELLS)
    run_in_linux = runpy.run_path(str(LINUX))["run_in_linux"]
    done = run_in_linux(["sh", "-c", script], options.job, modules=MODULES)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
