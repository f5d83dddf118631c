import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    link = json.load(file)["link"]
print("p99 lateness in us:", link["lateness_us"]["p99"], "dropped by the kernel:", link["tun_dropped"])
sys.exit(bool(link["late"] or any(link["tun_dropped"].values()) or link["unaccounted"]))
