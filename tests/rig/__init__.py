"""What the black-box tests stand on: namespaces, a DNS server, origins, weir itself."""
