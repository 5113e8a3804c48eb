"""contrib/k8s: what is claimed of the manifests holds for them as kustomize renders them.

contrib/k8s/rendered has that: whoever changes a manifest renders it again (the command stands there), and where
there is a kubectl that knows components the tests look whether that was done.
"""
import copy
import pathlib
import shutil
import subprocess

import pytest
import yaml

from rig import cluster
from rig.weir import binary

pytestmark = pytest.mark.plain

K8S = pathlib.Path(__file__).resolve().parents[2] / "contrib/k8s"
SHAPES = {"single": "overlays/single", "ha": "overlays/ha", "sidecar": "sidecar", "agent-sandbox": "agent-sandbox", "verify": "verify"}
GATEWAYS = ["single", "ha"]
DOORS = {("TCP", 3128), ("TCP", 8787), ("TCP", 1080)}


def docs(shape):
    return cluster.load(K8S / "rendered" / (shape + ".yaml"))


def all_docs():
    return [(shape, doc) for shape in SHAPES for doc in docs(shape)]


if shutil.which("kubectl"):
    @pytest.mark.parametrize("shape", SHAPES)
    def test_what_is_rendered_is_what_kustomize_makes(shape):
        done = subprocess.run(["kubectl", "kustomize", str(K8S / SHAPES[shape])], capture_output=True, text=True, check=False)
        if "unknown field" in done.stderr or "Component" in done.stderr:  # before 1.21
            return
        text = (K8S / "rendered" / (shape + ".yaml")).read_text()
        assert done.stdout == text[text.index("apiVersion"):], done.stderr


# -- who may talk to whom

def sandbox(labels=None, namespace="weir-sandboxes"):
    return cluster.End("the sandbox", "10.244.200.1", namespace, labels)


def names(found):
    return {(end.name, protocol, port) for end, protocol, port in found}


def is_weir(end):
    return end.namespace == "weir-system" and end.labels.get("app.kubernetes.io/name") == "weir"


@pytest.mark.parametrize("shape", GATEWAYS)
@pytest.mark.parametrize("labels", [{}, {"app.kubernetes.io/name": "weir"}, {"k8s-app": "kube-dns"}, {"app": "anything"}],
                         ids=["no labels", "weir's labels", "the name server's labels", "labels"])
def test_a_sandboxs_only_peer_is_weir_by_its_doors(shape, labels):
    for alone in (True, False):  # by its own policies alone, and with those of who is reached
        found = cluster.reached(docs(shape), sandbox(labels), alone)
        assert all(is_weir(end) for end, _, _ in found)
        assert {(protocol, port) for _, protocol, port in found} == DOORS


@pytest.mark.parametrize("shape", GATEWAYS)
def test_nobody_comes_in_to_a_sandbox(shape):
    reach, box = cluster.Reach(docs(shape)), sandbox()
    assert not [end for end in cluster.universe(docs(shape)) for port in cluster.PORTS for protocol in cluster.PROTOCOLS
                if reach.may(end, box, protocol, port)]


def test_a_sandbox_of_agent_sandbox_has_no_other_peer_either():
    """The template's own policy alone, without the namespace's."""
    everything = [d for d in docs("single") if d["kind"] != "NetworkPolicy" or d["metadata"]["namespace"] == "weir-system"] + docs(
        "agent-sandbox")
    found = cluster.reached(everything, sandbox())
    assert found and all(is_weir(end) for end, _, _ in found)
    assert {(protocol, port) for _, protocol, port in found} == DOORS
    reach = cluster.Reach(everything)
    comes = {end.name for end in cluster.universe(everything) for port in cluster.PORTS if reach.may(end, sandbox(), "TCP", port)}
    assert comes == {"{'app': 'sandbox-router'} in agent-sandbox-system"}


@pytest.mark.parametrize("shape", GATEWAYS)
def test_weir_itself_reaches_the_internet_and_nothing_inside(shape):
    weir = cluster.End("weir", "10.244.200.2", "weir-system", {"app.kubernetes.io/name": "weir"})
    found = cluster.reached(docs(shape), weir, leaves_only=True)
    inside = names({(end, protocol, port) for end, protocol, port in found if not end.address.is_global})
    want = {("{'k8s-app': 'kube-dns'} in kube-system", protocol, 53) for protocol in ("TCP", "UDP")}
    if shape == "ha":
        want |= {("{'app.kubernetes.io/name': 'redis'} in weir-ledger", "TCP", 6379)}
    assert inside == want
    assert {(end.name, protocol) for end, protocol, _ in found if end.address.is_global} == {("public", "TCP"), ("public v6", "TCP")}


@pytest.mark.parametrize("shape", GATEWAYS)
def test_weirs_doors_are_the_sandboxes_and_its_counters_the_monitors(shape):
    reach = cluster.Reach(docs(shape))
    weir = next(end for end in cluster.universe(docs(shape)) if is_weir(end))
    comes = {(end.namespace, protocol, port) for end in cluster.universe(docs(shape)) for port in cluster.PORTS
             for protocol in cluster.PROTOCOLS if end.namespace and reach._may("Ingress", weir, end, weir, protocol, port)}
    assert comes == {("weir-sandboxes", protocol, port) for protocol, port in DOORS} | {("monitoring", "TCP", 9464)}


def policy(all_, name, namespace="weir-sandboxes"):
    return next(d for d in all_ if d["kind"] == "NetworkPolicy" and (d["metadata"]["name"], d["metadata"]["namespace"]) == (
        name, namespace))


def to_weir(all_):
    return policy(all_, "to-weir")["spec"]["egress"][0]


HOLES = {
    "the namespace forgotten": lambda d: to_weir(d)["to"][0].pop("namespaceSelector"),
    "the pods forgotten": lambda d: to_weir(d)["to"][0].pop("podSelector"),
    "two peers instead of one": lambda d: to_weir(d)["to"].append(dict(podSelector=to_weir(d)["to"][0].pop("podSelector"))),
    "ports forgotten": lambda d: to_weir(d).pop("ports"),
    "peers forgotten": lambda d: to_weir(d).pop("to"),
    "DNS as usual": lambda d: policy(d, "to-weir")["spec"]["egress"].append(
        {"to": [{"namespaceSelector": {}}], "ports": [{"protocol": "UDP", "port": 53}]}),
    "the internet": lambda d: policy(d, "to-weir")["spec"]["egress"].append({"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}),
    "IPv6 forgotten": lambda d: policy(d, "to-weir")["spec"]["egress"].append({"to": [{"ipBlock": {"cidr": "::/0"}}]}),
    "metadata": lambda d: policy(d, "to-weir")["spec"]["egress"].append({"to": [{"ipBlock": {"cidr": "169.254.0.0/16"}}]}),
    "another policy": lambda d: d.append(dict(policy(d, "to-weir"), spec={"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]})),
    "other labels": lambda d: [policy(d, name)["spec"].update(podSelector={"matchLabels": {"app": "sandbox"}}) for name in (
        "default-deny", "to-weir")],
    "ingress alone": lambda d: [policy(d, name)["spec"].update(policyTypes=["Ingress"]) for name in ("default-deny", "to-weir")],
    "another namespace": lambda d: [policy(d, name)["metadata"].update(namespace="default") for name in ("default-deny", "to-weir")],
}


@pytest.mark.parametrize("hole", HOLES.values(), ids=HOLES)
def test_a_hole_in_the_policies_is_seen(hole):
    """The judge of the tests above is judged: each mistake shows as a peer that is not weir, or a port that is no door."""
    broken = copy.deepcopy(docs("single"))
    hole(broken)
    found = cluster.reached(broken, sandbox(), leaves_only=True)
    assert not all(is_weir(end) and (protocol, port) in DOORS for end, protocol, port in found)


# -- pods

def test_every_pod_passes_the_restricted_profile_but_for_net_init():
    seen = set()
    for shape in SHAPES:
        for name, _, _, spec in cluster.pods(docs(shape)):
            seen.add(shape)
            assert {fault for fault in cluster.unrestricted(spec) if fault[0] != "net-init"} == set(), name
    assert seen == set(SHAPES)
    for name in ("Pod/program", "Job/program"):
        spec = next(spec for n, _, _, spec in cluster.pods(docs("sidecar")) if n == name)
        assert {what for who, what in cluster.unrestricted(spec) if who == "net-init"} == {
            "adds capabilities", "may be root", "is root"}


def weirs(all_):
    return next(spec for _, _, _, spec in cluster.pods(all_))


FAULTS = {
    "host's network": lambda s: s.update(hostNetwork=True),
    "host's directory": lambda s: s["volumes"].append({"name": "x", "hostPath": {"path": "/"}}),
    "root": lambda s: s["securityContext"].update(runAsUser=0),
    "perhaps root": lambda s: s["securityContext"].pop("runAsNonRoot"),
    "no seccomp": lambda s: s["securityContext"].pop("seccompProfile"),
    "capabilities kept": lambda s: s["containers"][0]["securityContext"].pop("capabilities"),
    "a capability": lambda s: s["containers"][0]["securityContext"]["capabilities"].update(add=["NET_ADMIN"]),
    "rights gained": lambda s: s["containers"][0]["securityContext"].pop("allowPrivilegeEscalation"),
    "privileged": lambda s: s["containers"][0]["securityContext"].update(privileged=True),
    "a host's port": lambda s: s["containers"][0]["ports"][0].update(hostPort=3128),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_pod_that_is_not_restricted_is_seen(fault):
    spec = copy.deepcopy(weirs(docs("single")))
    fault(spec)
    assert cluster.unrestricted(spec)


def test_no_pod_has_a_token_of_the_clusters_and_every_root_is_read_only():
    for shape in SHAPES:
        for name, _, _, spec in cluster.pods(docs(shape)):
            assert spec["automountServiceAccountToken"] is False, name
            assert not [v for v in spec.get("volumes") or [] if "projected" in v or "hostPath" in v], name
            for container in cluster.containers(spec):
                assert container["securityContext"]["readOnlyRootFilesystem"] is True, (name, container["name"])
                assert container["resources"]["limits"]["memory"], (name, container["name"])
                assert not [e for e in container.get("env") or [] if "valueFrom" in e], (name, container["name"])


def test_in_the_sidecar_rules_come_first_and_the_program_last_as_another_user():
    for _, _, _, spec in cluster.pods(docs("sidecar")):
        assert [c["name"] for c in spec["initContainers"]] == ["net-init", "weir", "arm", "verify"]
        users = {c["name"]: c["securityContext"].get("runAsUser", spec["securityContext"]["runAsUser"]) for c in cluster.containers(spec)}
        assert users == {"net-init": 0, "weir": 1337, "arm": 1337, "verify": 1000, "program": 1000}
        assert spec["initContainers"][1]["restartPolicy"] == "Always" and not spec.get("shareProcessNamespace")
        for container in cluster.containers(spec):
            mounts = {m["name"] for m in container.get("volumeMounts") or []}
            assert container["name"] in ("weir", "arm") or not mounts & {"run", "keys", "token", "state"}, container["name"]


def test_the_sidecars_rules_are_those_that_are_tested():
    assert (K8S / "sidecar/weir.nft").read_text() == (K8S.parent / "nftables/sidecar.nft").read_text()
    rules = next(d for d in docs("sidecar") if d["kind"] == "ConfigMap")["data"]["weir.nft"]
    assert rules == (K8S.parent / "nftables/sidecar.nft").read_text()


# -- fields, and what is in them

@pytest.mark.parametrize("shape", SHAPES)
def test_every_field_is_one_that_the_api_has(shape):
    assert [path for doc in docs(shape) for path in cluster.unknown_keys(doc)] == []


@pytest.mark.parametrize("change", [
    lambda c: c.update(livenesProbe={}), lambda c: c["securityContext"].update(readOnlyRootFileSystem=True),
    lambda c: c["ports"][0].update(portz=3), lambda c: c["ports"][0].update(containerPort="3128"),
    lambda c: c.update(args="run"), lambda c: c["resources"].update(limit={})])
def test_a_field_that_the_api_does_not_have_is_seen(change):
    deployment = copy.deepcopy(next(d for d in docs("single") if d["kind"] == "Deployment"))
    assert cluster.unknown_keys(deployment) == []
    change(deployment["spec"]["template"]["spec"]["containers"][0])
    assert cluster.unknown_keys(deployment) != []


def test_what_is_mounted_is_there_and_what_is_named_is_made():
    """Secrets are the operator's to make; all else is in the same rendering."""
    for shape in SHAPES:
        made = {(d["kind"], d["metadata"]["name"]) for d in docs(shape)}
        for name, _, _, spec in cluster.pods(docs(shape)):
            volumes = {v["name"]: v for v in spec.get("volumes") or []}
            used = {m["name"] for c in cluster.containers(spec) for m in c.get("volumeMounts") or []}
            assert used == set(volumes), name
            for volume in volumes.values():
                if "configMap" in volume:
                    assert ("ConfigMap", volume["configMap"]["name"]) in made, name
                if "persistentVolumeClaim" in volume:
                    assert ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]) in made, name


@pytest.mark.parametrize("shape", ["single", "ha", "sidecar"])
def test_the_configuration_in_the_manifests_is_one(shape, tmp_path):
    data = next(d for d in docs(shape) if d["kind"] == "ConfigMap")["data"]
    for name in ("session.key", "redis.password"):
        subprocess.run([binary(), "token", "keygen", "--alg", "HS256", "--out", str(tmp_path / name)], check=True, capture_output=True)
    for name, text in data.items():
        (tmp_path / name).write_text(text.replace("/run/keys/", str(tmp_path) + "/"))
    done = subprocess.run([binary(), "check", "-c", str(tmp_path / "weir.yaml")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_sandboxes_know_weir_by_the_services_address():
    address = next(d for d in docs("single") if d["kind"] == "Service")["spec"]["clusterIP"]
    for shape in ("agent-sandbox", "verify"):
        for name, _, _, spec in cluster.pods(docs(shape)):
            assert spec["hostAliases"] == [{"ip": address, "hostnames": ["weir"]}], name
            assert spec["dnsPolicy"] == "None" and spec["dnsConfig"]["nameservers"] == ["127.0.0.1"], name


def test_every_manifest_is_yaml_without_duplicates():
    class Strict(yaml.SafeLoader):
        pass

    def mapping(loader, node, deep=False):
        keys = [loader.construct_object(k, deep=True) for k, _ in node.value]
        assert len(keys) == len(set(keys)), node.start_mark
        return yaml.SafeLoader.construct_mapping(loader, node, deep)
    Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    for path in sorted(K8S.rglob("*.yaml")):
        with open(path, encoding="utf-8") as f:
            assert list(yaml.load_all(f, Strict)), path  # noqa: S506
