"""`python -m infra --stage dev --out folder` synthesises a stage; `cdk --app` runs it the same way."""

import argparse
import os
import sys
from pathlib import Path

from aws_cdk import App

from steeltrap.toolsets import CATALOGUE

from .bundle import MissingPython
from .nag import check
from .portable import write_portable
from .stack import Steeltrap
from .stage import read_stage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stage", default="dev")
    parser.add_argument("--out", default=os.environ.get("CDK_OUTDIR"), help="the folder of the template and its assets")
    arguments = parser.parse_args()
    app = App(outdir=arguments.out)
    stage = read_stage(arguments.stage)
    try:
        stack = Steeltrap(app, stage, CATALOGUE)
    except MissingPython as missing:
        sys.exit(str(missing))
    check(app, stack, stage)
    assembly = app.synth()
    write_portable(Path(assembly.directory), stage.stack_name)


if __name__ == "__main__":
    main()
