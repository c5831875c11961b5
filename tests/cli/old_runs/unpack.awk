# Unpacks runs that make.sh has packed: awk -v to=FOLDER -f unpack.awk FILE.run...
/^@run / { id = $2; close(out); out = ""; system("mkdir -p '" to "/" id "'"); next }
/^@(lines|text|base64) / {
    if (out)
        close(out)
    file = to "/" id "/" $2
    kind = $1
    out = kind == "@base64" ? "base64 -d >'" file "'" : file
    first = 1
    next
}
kind == "@base64" { print | out; next }
kind == "@lines" { print > out; next }
{ printf "%s%s", first ? "" : "\n", $0 > out; first = 0 }
