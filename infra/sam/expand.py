"""Prints the templates as CloudFormation will see them, as one JSON document.

{"source":   the root template as written, intrinsics in their long form,
 "expanded": the root template after the SAM transform,
 "stacks":   {"network.yaml": nested template, ...}}

Uses the translator of SAM as a library: no network, no credentials, under a second.
"""

import copy
import json
import logging
import pathlib
import sys

from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.public.translator import ManagedPolicyLoader
from samtranslator.translator.transform import transform


class NoManagedPolicies(ManagedPolicyLoader):
    """Stands in for the list of AWS managed policies, which would need the network; the templates name none."""

    def __init__(self):
        pass

    def load(self):
        return {}


def expand(source):
    """Returns the template after the SAM transform. Local paths are replaced first, as packaging does."""
    template = copy.deepcopy(source)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/key"
        if resource["Type"] == "AWS::Serverless::StateMachine":
            resource["Properties"]["DefinitionUri"] = "s3://bucket/key"
    return transform(template, {}, NoManagedPolicies())


def main():
    logging.disable(logging.CRITICAL)
    root = pathlib.Path(sys.argv[1])
    source = yaml_parse((root / "template.yaml").read_text(encoding="utf-8"))
    stacks = {
        path.name: yaml_parse(path.read_text(encoding="utf-8"))
        for path in sorted((root / "infra" / "stacks").glob("*.yaml"))
    }
    json.dump({"source": source, "expanded": expand(source), "stacks": stacks}, sys.stdout, sort_keys=True)


if __name__ == "__main__":
    main()
