import time
import urllib.request

start = time.monotonic()
with urllib.request.urlopen("http://server/bytes/1MB", timeout=60) as answer:
    assert len(answer.read()) == 1_000_000
seconds = time.monotonic() - start
print(f"1 MB in {seconds:.2f} s")
assert seconds < 15
