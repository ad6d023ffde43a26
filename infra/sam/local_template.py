"""Prints a template with one function of template.yaml, made to run in a container on this machine.

    local_template.py <logical id> <architecture of Lambda: arm64 or x86_64>

`sam local` cannot follow the outputs of nested stacks, and passes on only variables that the template names. So the function
keeps what it is (build target, runtime, timeout, memory) and loses what ties it to a network, a role and events; its
variables stand empty, with the two that only local runs set.
"""

import json
import pathlib
import sys

from samcli.yamlhelper import yaml_parse

LOCAL_VARIABLES = ["HOLDFAST_MYSQL_DSN", "HOLDFAST_AWS_ENDPOINT"]


def main():
    logical_id, architecture = sys.argv[1:]
    root = pathlib.Path(__file__).resolve().parents[2]
    source = yaml_parse((root / "template.yaml").read_text(encoding="utf-8"))
    shared = source["Globals"]["Function"]
    function = source["Resources"][logical_id]
    own = function["Properties"]
    names = list(own.get("Environment", {}).get("Variables", {})) + LOCAL_VARIABLES
    properties = {
        "Runtime": shared["Runtime"],
        "Handler": shared["Handler"],
        "CodeUri": own["CodeUri"],
        "Timeout": own["Timeout"],
        "MemorySize": own["MemorySize"],
        "Architectures": [architecture],
        "Environment": {"Variables": {name: "" for name in names}},
    }
    template = {
        "AWSTemplateFormatVersion": source["AWSTemplateFormatVersion"],
        "Transform": source["Transform"],
        "Resources": {logical_id: {"Type": function["Type"], "Metadata": function["Metadata"], "Properties": properties}},
    }
    json.dump(template, sys.stdout, indent=2)


if __name__ == "__main__":
    main()
