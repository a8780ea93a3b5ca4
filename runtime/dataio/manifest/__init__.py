"""Data manifests: a JSON file that lists shards with their sizes, records and places to start at.

model      what a manifest says, as values, and its JSON
parse      from bytes, none of which are trusted
shards     from a loader's `manifest` source to the files to read
survey     what a shard holds: its records and the blocks they lie in
build      from a list of files to a manifest, and the check of one
"""
