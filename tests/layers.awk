# layers.awk - does each include point down the layers of src/LAYERS?
#   awk -f layers.awk src/LAYERS src/*/*.[ch]
# A line of LAYERS names a layer and, behind the colon, those it may use.

FNR == NR {
	sub(/:/, "")
	known[$1]
	may[$1, $1]
	for (i = 2; i <= NF; i++)
		may[$1, $i]
	next
}

FNR == 1 {
	n = split(FILENAME, part, "/")
	layer = part[n - 1]
	if (!(layer in known))
		complain("the layer " layer " is not in LAYERS")
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
	split($0, quoted, "\"")
	if (split(quoted[2], part, "/") != 2)
		complain("\"" quoted[2] "\" names no layer")
	else if (!((layer, part[1]) in may))
		complain(layer " may not use " part[1] " (\"" quoted[2] "\")")
}

END {
	exit bad
}

function complain(what)
{
	printf "%s:%d: %s\n", FILENAME, FNR, what
	bad = 1
}
