//! The profiles that come with litmake. They are read once for each process, and extend only each
//! other: files on the disk do not change them.
//!
//! This file does not know files on the disk.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use super::Profile;
use super::family::{self, Family, Keys, circle, no_base, with_builds};
use super::yaml::Words;
use litmake_base::diag::{Diag, Result, Source};

const MAX_INHERITANCE: usize = 16;

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        /// The profiles that come with litmake: the path and text of each file.
        const BUILT_IN: &[(&str, &str)] = &[$((
            concat!("profiles/", $name, ".yaml"),
            include_str!(concat!("../../profiles/", $name, ".yaml")),
        )),*];
    };
}

built_in! {
    "clang++-cross", "clang++", "clang-aarch64-cpu", "clang-aarch64-gisel", "clang-aarch64-march", "clang-aarch64-new", "clang-aarch64-outline",
    "clang-aarch64-pic", "clang-aarch64", "clang-aarch64be", "clang-armv7-pic", "clang-armv7",
    "clang-armv8", "clang-bpf", "clang-bpfv3", "clang-kernel-aarch64", "clang-kernel-ppc64le", "clang-kernel-riscv64", "clang-kernel-x86_64",
    "clang-gfx1100", "clang-gfx1200", "clang-gfx90a", "clang-gfx942", "clang-i386", "clang-i386-march", "clang-i386-pic", "clang-mips64", "clang-mips64el-pic", "clang-mips64el", "clang-mips64r6el",
    "clang-loongarch64", "clang-loongarch64-march", "clang-nvptx-sm90", "clang-nvptx", "clang-opencl", "clang-ppc64le-cpu", "clang-ppc64le-pic", "clang-ppc64le", "clang-riscv64-march",
    "clang-riscv64-march19", "clang-riscv64-pic", "clang-riscv64", "clang-s390x", "clang-s390x-march", "clang-s390x-pic", "clang-spirv", "clang-thumb",
    "clang-x86_64-cx16", "clang-x86_64-march", "clang-x86_64-pic", "clang", "g++",
    "gcc-aarch64-march", "gcc-aarch64-pic", "gcc-aarch64", "gcc-armv7-pic", "gcc-armv7",
    "gcc-armv8", "gcc-bpf", "gcc-kernel-aarch64", "gcc-kernel-ppc64le", "gcc-kernel-riscv64", "gcc-kernel-x86_64", "gcc-i386", "gcc-i386-march", "gcc-i386-pic", "gcc-mips64", "gcc-mips64el-pic", "gcc-mips64el", "gcc-mips64r6el",
    "gcc-loongarch64", "gcc-loongarch64-march", "gcc-ppc64le-cpu", "gcc-ppc64le-pic", "gcc-ppc64le", "gcc-riscv64-pic", "gcc-riscv64", "gcc-s390x", "gcc-s390x-march", "gcc-s390x-pic",
    "gcc-snapshot-x86_64", "gcc-thumb", "gcc-x86_64-cx16", "gcc-x86_64-march", "gcc-x86_64-pic", "gcc", "glslang", "glslang-opt", "glslang-opt-pass", "go-amd64", "go-arm", "go-arm64", "go-ppc64le", "go-riscv64", "go-s390x", "llvm-spirv",
    "llvm-spirv-15", "naga", "naga-opt", "nvcc", "rustc-cross",
    "rustc", "spirv-opt", "spirv-opt-pass", "table-aarch64-jvm", "table-libatomic-aarch64", "table-libatomic-ppc64le", "table-libatomic-riscv64", "table-libatomic-x86_64", "table-msvc-aarch64",
    "table-msvc-aarch64-ldar", "table-msvc-x86_64", "table-ppc64le-leading", "table-ppc64le-trailing",
    "table-riscv64-a6c", "table-riscv64-a6s", "table-riscv64-a7", "zig-aarch64", "zig-aarch64be",
    "zig-armv7", "zig-armv8", "zig-i386", "zig-mips64el", "zig-nvptx", "zig-ppc64le", "zig-riscv64", "zig-x86_64",
}

type Named<T> = (&'static str, Result<T>);

static CHAINS: LazyLock<Vec<Named<Keys>>> =
    LazyLock::new(|| BUILT_IN.iter().map(|(name, text)| (*name, chain(name, text, 0))).collect());

static FAMILIES: LazyLock<Vec<Named<Family>>> = LazyLock::new(|| {
    let all = |(name, chain): &Named<Keys>| {
        (*name, chain.clone().and_then(|keys| with_builds(&keys, &[])))
    };
    CHAINS.iter().map(all).collect()
});

/// The profiles of each file, with the name of the file.
pub fn families() -> &'static [Named<Family>] {
    &FAMILIES
}

/// The keys of the file of this name, completed by those of the profile that it extends.
pub fn file(path: &Path) -> Option<Result<Keys>> {
    let found = CHAINS.iter().find(|(name, _)| Path::new(name).file_name() == path.file_name());
    Some(found?.1.clone())
}

/// The keys of the family with a profile of this name; the matrix is reduced to that profile.
pub fn member(name: &str) -> Option<Keys> {
    CHAINS.iter().find_map(|(_, chain)| only(chain.as_ref().ok()?, name))
}

/// The profile of exactly this name.
pub fn profile(name: &str) -> Option<Arc<Profile>> {
    let family = with_builds(&member(name)?, &[]).ok()?;
    family.first().cloned()
}

/// Whether a profile comes from litmake's own file. A file on the disk with an equal profile does
/// not count.
pub fn is(profile: &Profile) -> bool {
    BUILT_IN
        .iter()
        .any(|(name, text)| *profile.source.name == **name && *profile.source.text == **text)
}

fn chain(name: &str, text: &str, depth: usize) -> Result<Keys> {
    let own = Keys::read(Source::new(name, text))?;
    let Some(base) = own.file.extends.clone() else { return Ok(own) };
    let at = |e: Box<Diag>| e.or_at(&own.source, base.span);
    if depth >= MAX_INHERITANCE {
        return Err(at(circle()));
    }
    let path = family::base_path(Path::new(name), &base.value);
    let found = BUILT_IN.iter().find(|(n, _)| Path::new(n).file_name() == path.file_name());
    let of_family = || {
        BUILT_IN.iter().find_map(|(n, text)| {
            chain(n, text, depth + 1).ok().and_then(|keys| only(&keys, &base.value))
        })
    };
    let under = match found {
        Some((name, text)) => chain(name, text, depth + 1)?,
        None => of_family().ok_or_else(|| at(no_base(&base.value, &path)))?,
    };
    Ok(own.over(&under))
}

/// A family reduced to the profile of this name; none if it has no such profile.
fn only(family: &Keys, name: &str) -> Option<Keys> {
    let file = &family.file;
    let chosen = combination(&file.name.value, &file.matrix, name)?;
    let mut only = family.clone();
    for (variable, values) in &mut only.file.matrix {
        values.0.retain(|v| chosen.get(variable.as_str()) == Some(&v.value.as_str()));
    }
    Some(only)
}

/// The values of the variables with which a family's name (`clang-${version}-${level}`) is this one.
fn combination<'a>(
    family: &'a str,
    matrix: &'a BTreeMap<String, Words>,
    name: &str,
) -> Option<BTreeMap<&'a str, &'a str>> {
    let Some((text, rest)) = family.split_once("${") else {
        return (family == name).then(BTreeMap::new);
    };
    let name = name.strip_prefix(text)?;
    let (variable, rest) = rest.split_once('}')?;
    matrix.get(variable)?.iter().find_map(|value| {
        let value = value.value.as_str();
        let mut out = combination(rest, matrix, name.strip_prefix(value)?)?;
        let other = out.insert(variable, value);
        other.is_none_or(|other| other == value).then_some(out)
    })
}

#[cfg(test)]
mod tests {
    /// One profile, made alone, is the one that its family has.
    #[test]
    fn each_shipped_profile_is_found_by_its_name() {
        for (file, family) in super::families() {
            for profile in family.as_ref().unwrap_or_else(|e| panic!("{file}: {e}")).iter() {
                assert_eq!(super::profile(&profile.name).as_ref(), Some(profile));
            }
        }
        assert_eq!(super::profile("clang-22"), None);
    }

    #[test]
    fn every_file_of_the_profiles_folder_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| format!("profiles/{}", entry.unwrap().file_name().display()))
            .collect();
        files.sort();
        let mut built_in: Vec<String> = super::BUILT_IN.iter().map(|f| f.0.to_string()).collect();
        built_in.sort();
        assert_eq!(files, built_in);
    }
}
