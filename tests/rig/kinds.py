#!/usr/bin/env python3
"""kinds.py NODE_MODULES >kinds.json - the fields of the kinds that contrib/k8s uses

The API's own are read from the types of the npm package kubernetes-models (5.1.0); those of
agent-sandbox v1beta1, which nobody packages, stand below as its sources have them.
"""
import json
import pathlib
import re
import sys

KINDS = {"v1": ["ConfigMap", "Namespace", "PersistentVolumeClaim", "Pod", "Service", "ServiceAccount"], "apps/v1": ["Deployment"],
         "batch/v1": ["Job"], "networking.k8s.io/v1": ["NetworkPolicy"], "policy/v1": ["PodDisruptionBudget"],
         "autoscaling/v2": ["HorizontalPodAutoscaler"],
         "admissionregistration.k8s.io/v1": ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]}
GROUPS = {"v1": "IIoK8sApiCoreV1", "apps/v1": "IIoK8sApiAppsV1", "batch/v1": "IIoK8sApiBatchV1",
          "networking.k8s.io/v1": "IIoK8sApiNetworkingV1", "policy/v1": "IIoK8sApiPolicyV1",
          "autoscaling/v2": "IIoK8sApiAutoscalingV2", "admissionregistration.k8s.io/v1": "IIoK8sApiAdmissionregistrationV1"}
CORE, NET, META = "IIoK8sApiCoreV1", "IIoK8sApiNetworkingV1", "IIoK8sApimachineryPkgApisMetaV1ObjectMeta"
TEXTS = ["map", "string"]
AGENT = "extensions.agents.x-k8s.io/v1beta1"
SANDBOXES = {
    "SandboxTemplate": {"podTemplate": "SandboxPodTemplate", "volumeClaimTemplates": ["list", "SandboxVolumeClaim"], "service": "boolean",
                        "networkPolicy": "SandboxNetworkPolicy", "networkPolicyManagement": "string",
                        "envVarsInjectionPolicy": "string", "volumeClaimTemplatesPolicy": "string",
                        "generatedSecrets": ["list", "SandboxSecret"]},
    "SandboxWarmPool": {"replicas": "integer", "sandboxTemplateRef": "SandboxRef", "updateStrategy": "SandboxStrategy"},
    "SandboxClaim": {"warmPoolRef": "SandboxRef", "lifecycle": "SandboxLifecycle", "additionalPodMetadata": "SandboxMetadata",
                     "safeToEvict": "string", "env": ["list", "SandboxVariable"]},
}
SANDBOX_PARTS = {
    "SandboxPodTemplate": {"metadata": "SandboxMetadata", "spec": CORE + "PodSpec"},
    "SandboxMetadata": {"labels": TEXTS, "annotations": TEXTS},
    "SandboxVolumeClaim": {"metadata": "SandboxNamed", "spec": CORE + "PersistentVolumeClaimSpec"},
    "SandboxNamed": {"name": "string", "labels": TEXTS, "annotations": TEXTS},
    "SandboxNetworkPolicy": {"ingress": ["list", NET + "NetworkPolicyIngressRule"], "egress": ["list", NET + "NetworkPolicyEgressRule"]},
    "SandboxSecret": {"name": "string", "data": ["list", "SandboxSecretData"]},
    "SandboxSecretData": {"key": "string", "lengthBytes": "integer"},
    "SandboxRef": {"name": "string"}, "SandboxStrategy": {"type": "string"},
    "SandboxLifecycle": {"shutdownTime": "string", "ttlSecondsAfterFinished": "integer", "shutdownPolicy": "string"},
    "SandboxVariable": {"name": "string", "value": "string", "containerName": "string"},
}
SCALARS = {"string": "string", "number": "integer", "boolean": "boolean", "IIoK8sApimachineryPkgApiResourceQuantity": "quantity",
           "IIoK8sApimachineryPkgUtilIntstrIntOrString": "int-or-string", "IIoK8sApimachineryPkgApisMetaV1Time": "string",
           "IIoK8sApimachineryPkgApisMetaV1MicroTime": "string", "IIoK8sApimachineryPkgApisMetaV1FieldsV1": "any"}


def type_of(text):
    text = text.strip()
    if text.startswith("Array<"):
        return ["list", type_of(text[6:-1])]
    if text.startswith("{"):
        return ["map", type_of(re.search(r"\]: (.*?);", text, re.S)[1])]
    return "string" if text.startswith('"') else SCALARS.get(text, text)


def read(root):
    """{exported name: {field: type}}"""
    found = {}
    for path in root.rglob("*.d.ts"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        name, body = re.search(r"^export \{ I\w+ as (I\w+)", text, re.M), re.search(r"export interface \w+[^{]*\{\n(.*?)^\}", text, re.M | re.S)
        if name and body:
            found[name[1]] = {field: type_of(type_) for field, type_ in re.findall(
                r'^    "(\w+)"\??: (\{.*?^    \}|[^;{]*);', body[1], re.M | re.S)}
    return found


def main():
    modules = pathlib.Path(sys.argv[1])
    api = {**read(modules / "kubernetes-models"), **read(modules / "@kubernetes-models/apimachinery"), **SANDBOX_PARTS}
    kinds = {"%s %s" % (version, kind): GROUPS[version] + kind for version, all_ in KINDS.items() for kind in all_}
    for kind, spec in SANDBOXES.items():
        api[kind + "Spec"] = spec
        api[kind] = {"apiVersion": "string", "kind": "string", "metadata": META, "spec": kind + "Spec", "status": "any"}
        kinds["%s %s" % (AGENT, kind)] = kind
    types, left = {}, list(kinds.values())

    def need(type_):
        if isinstance(type_, list):
            need(type_[1])
        elif type_ in api and type_ not in types and type_ not in left:
            left.append(type_)
    while left:
        one = left.pop()
        types[one] = {field: "any" if field == "status" else type_ for field, type_ in api[one].items()}
        for type_ in types[one].values():
            need(type_)
    print('{"kinds": %s,\n "types": {' % json.dumps(kinds))
    print(",\n".join("%s: %s" % (json.dumps(name), json.dumps(types[name], sort_keys=True)) for name in sorted(types)))
    print("}}")


main()
