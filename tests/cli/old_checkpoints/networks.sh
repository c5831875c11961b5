# The networks of the stored runs, and what is compared.

# write_networks: writes them into the present folder
write_networks() {
    cat >pooled.json <<'NETWORK'
{"name": "pooled", "input": [1, 28, 28], "classes": 10, "normalise": "unit",
 "layers": [{"op": "max_pool", "name": "pool", "kernel": 7, "stride": 7},
            {"op": "linear", "name": "fc1", "output": 6}, {"op": "batch_norm", "name": "bn"},
            {"op": "relu", "name": "relu"}, {"op": "linear", "name": "fc2", "output": "classes"}]}
NETWORK
    cat >pair.json <<'NETWORK'
{"name": "pair", "input": [3, 16, 16], "normalise": "signed", "loss": "l1_loss",
 "layers": [{"op": "conv", "name": "conv", "output": 3, "kernel": 3, "pad": 1}, {"op": "tanh", "name": "tanh"}],
 "discriminator": {"layers": [{"op": "conv", "output": 1, "kernel": 4, "stride": 2, "pad": 1}]}}
NETWORK
}

# sum_of FILE: prints the checksum of the values in a safetensors file, without its header
sum_of() {
    tail -c +$(($(od -An -tu8 -N8 "$1") + 9)) "$1" | cksum | cut -d ' ' -f 1
}
