"""What a cluster would make of manifests, judged without one.

Reach: NetworkPolicies as their API has them (who may talk to whom), by trying every pair.
Restricted: the Pod Security Standard of that name.  Keys: fields that the API knows.
"""
import ipaddress
import itertools
import json
import pathlib

import yaml

KINDS = pathlib.Path(__file__).with_name("kinds.json")


def load(path):
    with open(path, encoding="utf-8") as f:
        return [doc for doc in yaml.safe_load_all(f) if doc]


# -- pods

def pods(docs):
    """(name, namespace, labels, spec) of each pod that the documents make, or let a controller make."""
    for doc in docs:
        spec, name = doc.get("spec") or {}, "%s/%s" % (doc["kind"], doc["metadata"]["name"])
        template = spec.get("template") or spec.get("podTemplate")
        if doc["kind"] == "Pod":
            template = doc
        if isinstance(template, dict) and "spec" in template and "containers" in template["spec"]:
            yield name, doc["metadata"].get("namespace"), (template.get("metadata") or {}).get("labels") or {}, template["spec"]


def policies(docs):
    """NetworkPolicies, and what agent-sandbox makes of a template."""
    for doc in docs:
        if doc["kind"] == "NetworkPolicy":
            yield doc["metadata"]["namespace"], doc["spec"]
        elif doc["kind"] == "SandboxTemplate" and doc["spec"].get("networkPolicyManagement", "Managed") == "Managed":
            yield doc["metadata"]["namespace"], dict(doc["spec"]["networkPolicy"], podSelector={}, policyTypes=["Ingress", "Egress"])


# -- who may talk to whom

class End:
    """A pod, with an address of its own, or an address alone."""

    def __init__(self, name, address, namespace=None, labels=None, ports=None):
        self.name, self.address = name, ipaddress.ip_address(address)
        self.namespace, self.labels, self.ports = namespace, labels or {}, ports or {}

    def __repr__(self):
        return self.name


OPERATORS = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, values: value is not None,
    "DoesNotExist": lambda value, values: value is None,
}


def selects(selector, labels):
    return all(labels.get(k) == v for k, v in (selector.get("matchLabels") or {}).items()) and all(
        OPERATORS[e["operator"]](labels.get(e["key"]), e.get("values") or []) for e in selector.get("matchExpressions") or [])


class Reach:
    def __init__(self, docs):
        self.policies = list(policies(docs))
        self.namespaces = {doc["metadata"]["name"]: dict((doc["metadata"].get("labels") or {}), **{
            "kubernetes.io/metadata.name": doc["metadata"]["name"]}) for doc in docs if doc["kind"] == "Namespace"}

    def labels_of(self, namespace):
        return self.namespaces.get(namespace, {"kubernetes.io/metadata.name": namespace})

    def _is_peer(self, peer, home, end):
        if "ipBlock" in peer:  # a pod's address counts, too: some networks look at nothing else
            block = peer["ipBlock"]
            is_in = [ipaddress.ip_network(cidr) for cidr in [block["cidr"], *(block.get("except") or [])]]
            return end.address in is_in[0] and not any(end.address in net for net in is_in[1:])
        if end.namespace is None:
            return False
        if "namespaceSelector" in peer:
            if not selects(peer["namespaceSelector"] or {}, self.labels_of(end.namespace)):
                return False
        elif end.namespace != home:
            return False
        return selects(peer.get("podSelector") or {}, end.labels)

    @staticmethod
    def _is_port(row, protocol, port, to):
        if row.get("protocol", "TCP") != protocol:
            return False
        if "port" not in row:
            return True
        first = to.ports.get(row["port"]) if isinstance(row["port"], str) else row["port"]
        return first is not None and first <= port <= row.get("endPort", first)

    def _may(self, direction, end, other, to, protocol, port):
        """Does what is said about `end` in that direction let it?"""
        key, peers = ("egress", "to") if direction == "Egress" else ("ingress", "from")
        said = [(home, spec) for home, spec in self.policies if home == end.namespace and selects(
            spec.get("podSelector") or {}, end.labels) and direction in spec.get(
            "policyTypes", ["Ingress"] + (["Egress"] if "egress" in spec else []))]
        return not said or any(
            (not rule.get(peers) or any(self._is_peer(peer, home, other) for peer in rule[peers])) and
            (not rule.get("ports") or any(self._is_port(row, protocol, port, to) for row in rule["ports"]))
            for home, spec in said for rule in spec.get(key) or [])

    def may(self, source, to, protocol, port):
        """Is a connection let out where it begins, and in where it ends?"""
        return (source.namespace is None or self._may("Egress", source, to, to, protocol, port)) and \
            (to.namespace is None or self._may("Ingress", to, source, to, protocol, port))

    def may_leave(self, source, to, protocol, port):
        """The same, but for who lets it in: that is somebody else's word."""
        return self._may("Egress", source, to, to, protocol, port)


ADDRESSES = {"public": "93.184.215.14", "public v6": "2606:2800:21f::1", "a node": "192.168.7.4", "a node's v6": "fd00:7::4",
             "metadata": "169.254.169.254", "metadata v6": "fd00:ec2::254", "the API": "10.96.0.1", "another network": "172.20.0.9",
             "carrier": "100.64.0.9", "link v6": "fe80::1", "another pod": "10.244.9.9", "benchmark": "198.18.0.1"}
PORTS = [1, 22, 53, 80, 443, 853, 1080, 2375, 3128, 5353, 6379, 6443, 8080, 8787, 9464, 10250, 15001, 65535]
PROTOCOLS = ["TCP", "UDP", "SCTP"]


def universe(docs):
    """Each pod that is described; pods with every set of labels that a selector speaks of, in every namespace; addresses."""
    ends, serial = [], itertools.count(1)

    def pod(name, namespace, labels, ports=None):
        n = next(serial)
        ends.append(End(name, "10.244.%d.%d" % (n >> 8, n & 255), namespace, labels, ports))
    for name, namespace, labels, spec in pods(docs):
        pod(name, namespace, labels, {p["name"]: p["containerPort"] for c in spec["containers"] for p in c.get("ports") or []
                                      if "name" in p})
    spoken, names = [{}], {"default", "kube-system", "monitoring"} | {d["metadata"]["name"] for d in docs if d["kind"] == "Namespace"}

    def look(node):
        if isinstance(node, dict):
            if isinstance(node.get("matchLabels"), dict) and node["matchLabels"] not in spoken:
                spoken.append(node["matchLabels"])
            if "kubernetes.io/metadata.name" in node:
                names.add(node["kubernetes.io/metadata.name"])
            for value in node.values():
                look(value)
        elif isinstance(node, list):
            for value in node:
                look(value)
    for _, spec in policies(docs):
        look(spec)
    for namespace in sorted(names):
        for labels in spoken:
            pod("%s in %s" % (labels or "a pod", namespace), namespace, labels,
                {"proxy": 3128, "gateway": 8787, "socks5": 1080, "health": 9464})
    ends += [End(name, address) for name, address in ADDRESSES.items()]
    return ends


def reached(docs, source, leaves_only=False):
    """{(peer, protocol, port)} that a pod may open."""
    reach = Reach(docs)
    may = reach.may_leave if leaves_only else reach.may
    return {(end, protocol, port) for end in universe(docs) for protocol in PROTOCOLS for port in PORTS if may(
        source, end, protocol, port)}


# -- Pod Security Standard: restricted

VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
SYSCTLS = {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
           "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range"}
SELINUX = {None, "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}


def containers(spec):
    return (spec.get("initContainers") or []) + spec["containers"] + (spec.get("ephemeralContainers") or [])


def _faults_of_container(pod, own, container):
    caps = own.get("capabilities") or {}
    profile = (own.get("seccompProfile") or pod.get("seccompProfile") or {}).get("type")
    yield "privileged", own.get("privileged", False)
    yield "may gain rights", own.get("allowPrivilegeEscalation") is not False
    yield "keeps capabilities", "ALL" not in (caps.get("drop") or [])
    yield "adds capabilities", set(caps.get("add") or []) - {"NET_BIND_SERVICE"}
    yield "may be root", own.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True
    yield "is root", own.get("runAsUser", pod.get("runAsUser")) == 0
    yield "no seccomp profile", profile not in ("RuntimeDefault", "Localhost")
    yield "host port", any(p.get("hostPort") for p in container.get("ports") or [])
    yield "proc mount", own.get("procMount", "Default") != "Default"
    yield "host process", (own.get("windowsOptions") or {}).get("hostProcess", False)
    yield "AppArmor", (own.get("appArmorProfile") or {}).get("type", "RuntimeDefault") == "Unconfined"
    yield "SELinux", (own.get("seLinuxOptions") or {}).get("type") not in SELINUX or {"user", "role"} & set(
        own.get("seLinuxOptions") or {})
    yield "probe elsewhere", any(
        (probe.get(kind) or {}).get("host") for probe in (container.get(p) or {} for p in ("livenessProbe", "readinessProbe", "startupProbe"))
        for kind in ("httpGet", "tcpSocket"))


def unrestricted(spec):
    """{(container or "", what)} that the restricted profile would refuse."""
    pod = spec.get("securityContext") or {}
    faults = {("", key) for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)}
    faults |= {("", "is root") for _ in [0] if pod.get("runAsUser") == 0}
    faults |= {("", "sysctl") for s in pod.get("sysctls") or [] if s["name"] not in SYSCTLS}
    faults |= {("", "volume " + v["name"]) for v in spec.get("volumes") or [] if set(v) - {"name"} - VOLUMES}
    return faults | {(container["name"], what) for container in containers(spec) for what, is_so in _faults_of_container(
        pod, container.get("securityContext") or {}, container) if is_so}


# -- fields

def unknown_keys(doc):
    """Paths of fields that the API does not have, or that hold another kind of value; by kinds.json.

    A type there is "any", a name of a scalar, ["list", type], ["map", type], or {field: type or name of another}.
    """
    with open(KINDS, encoding="utf-8") as f:
        types = json.load(f)
    kind = "%s %s" % (doc["apiVersion"], doc["kind"])
    return list(_walk(types, types["kinds"][kind], doc, kind)) if kind in types["kinds"] else [kind]


SCALARS = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "quantity": (int, float, str), "int-or-string": (int, str)}


def _walk(types, type_, value, path):
    if type_ == "any":
        return
    if isinstance(type_, list):
        inside = value.values() if isinstance(value, dict) and type_[0] == "map" else value if isinstance(value, list) and \
            type_[0] == "list" else None
        if inside is None:
            yield path
        for one in inside or []:
            yield from _walk(types, type_[1], one, path + "[]")
    elif type_ in SCALARS:
        if not isinstance(value, SCALARS[type_]) or (isinstance(value, bool) and type_ != "boolean"):
            yield path
    elif not isinstance(value, dict):
        yield path
    else:
        fields = types["types"][type_]
        for key, one in value.items():
            if key not in fields:
                yield "%s.%s" % (path, key)
            else:
                yield from _walk(types, fields[key], one, "%s.%s" % (path, key))
