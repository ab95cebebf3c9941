"""Makes the file of gitleaks' rules again: `make update-rules VERSION=v8.30.1`, or FROM=gitleaks.toml for a file.

A release comes as a Go module, whose checksum Go verifies. What steeltrap has no use for is left out: paths, commits,
descriptions, the rules that it has better ones for (`pem.py` and `own.py`, beside the file), and Google's example keys,
which a scanner of this repository would take for real ones.
"""

import argparse
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

MODULE: Final = "github.com/zricethezav/gitleaks/v8"
FOLDER: Final = Path(__file__).parents[1] / "shared" / "steeltrap" / "text" / "secrets"
OWN: Final = ("private-key", "hashicorp-tf-password")
EXAMPLES: Final = "AIza"


def compact(config: dict[str, Any]) -> dict[str, Any]:
    """The allowlist of all rules, and the rules that have a pattern, of a gitleaks configuration."""
    rules = [_rule(rule) for rule in config["rules"] if "regex" in rule and rule["id"] not in OWN]
    return {"allow": _allow(config["allowlist"]), "rules": rules}


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    if not rule.get("keywords"):
        raise SystemExit(f"The rule {rule['id']} has no keywords, without which every text would be searched by it.")
    kept = {"id": rule["id"], "regex": rule["regex"], "keywords": sorted({word.lower() for word in rule["keywords"]})}
    if "secretGroup" in rule:
        kept["group"] = rule["secretGroup"]
    if "entropy" in rule:
        kept["entropy"] = rule["entropy"]
    # One that needs a path as well never holds: a memory has none.
    lists = [each for each in rule.get("allowlists", []) if not (each.get("condition") == "AND" and "paths" in each)]
    if allow := [found for each in lists if (found := _allow(each))]:
        kept["allow"] = allow
    return kept


def _allow(given: dict[str, Any]) -> dict[str, Any]:
    patterns = [pattern for pattern in given.get("regexes", []) if not pattern.startswith(EXAMPLES)]
    kept: dict[str, Any] = {"regexes": patterns, "stopwords": given.get("stopwords")}
    if any(kept.values()) and "regexTarget" in given:
        kept["target"] = given["regexTarget"]
    return {name: value for name, value in kept.items() if value}


def _released(version: str) -> tuple[Path, dict[str, str]]:
    command = ["go", "mod", "download", "-json", f"{MODULE}@{version}"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        raise SystemExit("This needs Go: install it, or give gitleaks' config/gitleaks.toml as FROM=PATH.") from None
    found = json.loads(done.stdout or "{}")
    if done.returncode or "Dir" not in found:
        raise SystemExit(f"{MODULE}@{version}: {found.get('Error') or done.stderr.decode()}")
    return Path(found["Dir"]), {"version": found["Version"], "sum": found["Sum"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", help="a release such as v8.30.1, or latest")
    parser.add_argument("--from", dest="file", type=Path, help="a gitleaks.toml of that version, instead of a download")
    given = parser.parse_args()
    if given.file is None:
        folder, origin = _released(given.version)
        file = folder / "config" / "gitleaks.toml"
        (FOLDER / "LICENSE.gitleaks").write_bytes((folder / "LICENSE").read_bytes())
    else:
        file, origin = given.file, {"version": given.version}
    made = {
        "source": MODULE,
        **origin,
        "licence": "MIT; see LICENSE.gitleaks",
        **compact(tomllib.loads(file.read_text())),
    }
    written = json.dumps(made, ensure_ascii=False, indent=1) + "\n"
    (FOLDER / "gitleaks.json").write_text(written)
    sys.stdout.write(f"{len(made['rules'])} rules of gitleaks {made['version']}\n")


if __name__ == "__main__":
    main()
