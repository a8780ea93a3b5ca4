"""Codes of the ARTIFACT family."""

from sexpgpu.diagnostics.codes.code import Code

TABLE: tuple[Code, ...] = (
    Code("E-ARTIFACT-001", "artifact cannot be opened",
         "The file named on the command line is not there, is a folder, or may not be read."),
    Code("E-ARTIFACT-002", "not an artifact",
         "The file is no `.vmfb` at all: it is empty, or it does not begin like one. An experiment's source, for "
         "instance, has to be built with `sexpc build` first."),
    Code("E-ARTIFACT-003", "damaged artifact",
         "The file was cut short or changed after `sexpc build` wrote it: the seal at its end does not fit the bytes "
         "before it. Nothing of it was run."),
    Code("E-ARTIFACT-004", "foreign module",
         "The file is an IREE module, but `sexpc build` did not write it: it bears no seal or no manifest."),
    Code("E-ARTIFACT-005", "artifact of a later version",
         "The manifest's schema is newer than this runtime. An older schema is read; a newer one cannot be."),
    Code("E-ARTIFACT-006", "artifact of another IREE",
         "The artifact was compiled with another version of IREE than the one installed here; compiled modules are "
         "not portable between versions."),
    Code("E-ARTIFACT-007", "inconsistent artifact",
         "The manifest lacks something, or names an export that the module does not have. A build of one version of "
         "sexpgpu read by another can do that."),
    Code("E-ARTIFACT-008", "module refused",
         "The file is whole and its manifest is right, but IREE did not load it: most often the device lacks something "
         "that the artifact's target needs."),
    Code("E-ARTIFACT-009", "artifact for another processor",
         "The artifact was compiled for a processor that can do more than this one; it would end in an illegal "
         "instruction. `sexpc build` compiles for the processor it runs on unless `--target` names one: "
         "`cpu:x86-64-v3` runs on nearly every server of the last ten years. `amx-tile` is lacking also where the "
         "processor has it and the system does not grant it."),
)
