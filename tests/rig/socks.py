"""A SOCKS5 client in exact bytes (RFC 1928, 1929) over the raw client."""
import ipaddress
import struct

NONE, LOGIN, NOTHING = 0, 2, 255
CONNECT, BIND, UDP = 1, 2, 3


def offer(*methods):
    return bytes([5, len(methods), *methods])


def login(user, password):
    user, password = user.encode(), password.encode()
    return b"\1" + bytes([len(user)]) + user + bytes([len(password)]) + password


def by_token(token):
    """As the manual has it: what does not fit into a password begins in the user."""
    if len(token) <= 255:
        return login("weir", token)
    return login(token[:255], token[255:])


def request(host, port, command=CONNECT):
    """An address goes as one, any other text as a name; bytes are a name whatever they say."""
    try:
        address = ipaddress.ip_address(host if isinstance(host, str) else "")
        where = bytes([1 if address.version == 4 else 4]) + address.packed
    except ValueError:
        name = host if isinstance(host, bytes) else host.encode("latin1")
        where = b"\3" + bytes([len(name)]) + name
    return bytes([5, command, 0]) + where + struct.pack("!H", port)


def read(sock, n):
    """n bytes, or fewer when the end came first."""
    sock.read_until(lambda data: len(data) >= n)
    out, sock.data = sock.data[:n], sock.data[n:]
    return out


def greet(sock, *methods):
    """The method that was chosen; None: closed."""
    sock.send(offer(*methods))
    answer = read(sock, 2)
    return answer[1] if len(answer) == 2 and answer[0] == 5 else None


def log_in(sock, message):
    """The status of a login: 0 is good."""
    sock.send(message)
    answer = read(sock, 2)
    return answer[1] if len(answer) == 2 and answer[0] == 1 else None


def ask(sock, host, port, command=CONNECT):
    """The reply's code; None: closed."""
    sock.send(request(host, port, command))
    answer = read(sock, 10)
    return answer[1] if len(answer) == 10 and answer[0] == 5 else None


def open_tunnel(sock, host, port, token=None):
    """The reply's code of the whole handshake."""
    if greet(sock, LOGIN if token else NONE) != (LOGIN if token else NONE):
        return None
    if token and log_in(sock, by_token(token)) != 0:
        return None
    return ask(sock, host, port)
