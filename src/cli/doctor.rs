//! `litmake doctor`: lists the compilers and devices that are here, those that are missing, and how
//! to get these.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, ExitCode};

use litmake::pipeline::plan::profile_folders;
use litmake::profile::Profiles;
use litmake::profile::files::Disk;
use litmake::toolchain::process;

use super::common::{self, CacheArgs};
use super::{output, remote};

/// List what is installed and what is missing, and how to get it.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    cache: CacheArgs,

    /// Examine this endpoint of the Bazel Remote Execution API instead: say what it can do, and
    /// what a run would miss there. The command stores a small trial and reads it back. Exit status
    /// 3: something is missing
    #[arg(long, value_name = "URL")]
    remote: Option<String>,

    /// Store the trial. With `false`, it is only read
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set,
          num_args = 0..=1, require_equals = true, default_missing_value = "true",
          requires = "remote", help_heading = "Remote cache")]
    remote_upload_local_results: bool,

    #[command(flatten, next_help_heading = "Remote cache")]
    access: remote::Access,
}

/// The package of Debian that has a command; none if there is none. Most packages are named like
/// their command.
pub fn package(command: &str) -> Option<String> {
    // `aarch64-linux-gnu-gcc` is in `gcc-aarch64-linux-gnu`.
    if let Some(target) = command.strip_suffix("-gcc") {
        return Some(format!("gcc-{target}"));
    }
    // `aarch64-linux-gnu-gcc-12` is in `gcc-12-aarch64-linux-gnu`, and so are those for C++.
    for word in ["-gcc-", "-g++-"] {
        if let Some((target, version)) = command.split_once(word) {
            return Some(format!("{}-{version}-{target}", &word[1..4]));
        }
    }
    Some(match command {
        "naga" => return None,
        "glslangValidator" => "glslang-tools".to_string(),
        "spirv-as" | "spirv-dis" | "spirv-opt" | "spirv-val" => "spirv-tools".to_string(),
        _ => command.replace("clang++-", "clang-"),
    })
}

/// The packages that this distribution has, and the others. Without apt, all of them count as
/// packages that it has.
#[expect(clippy::disallowed_methods, reason = "apt says at once which packages there are")]
fn known_to_apt(packages: BTreeSet<String>) -> (Vec<String>, Vec<String>) {
    let asked = Command::new("apt-cache").arg("madison").args(&packages).output();
    let Ok(said) = asked else { return (packages.into_iter().collect(), Vec::new()) };
    let said = String::from_utf8_lossy(&said.stdout);
    let known: BTreeSet<&str> =
        said.lines().filter_map(|l| l.split('|').next()).map(str::trim).collect();
    packages.into_iter().partition(|p| known.contains(p.as_str()))
}

pub fn main(args: Args) -> ExitCode {
    if let Some(url) = &args.remote {
        let examined = remote::client::examine(url, &args.access, args.remote_upload_local_results);
        return examined.unwrap_or_else(|e| common::fail(&e));
    }
    if let Err(e) = remote::client::check_unused(&args.access) {
        return common::fail(&e);
    }
    let folders = profile_folders(std::path::Path::new("."));
    let profiles = Profiles::load(&Disk, &folders, &[]);
    let mut compilers: BTreeMap<&str, usize> = BTreeMap::new();
    for profile in profiles.iter() {
        let then = profile.then.iter().filter_map(|command| command.first());
        for program in std::iter::once(&profile.compiler).chain(then) {
            *compilers.entry(program).or_default() += 1;
        }
    }
    let mut missing = Vec::new();
    println!("compilers:");
    for (name, count) in &compilers {
        match process::find(name) {
            Some(path) => println!("  {name:24} {count:>4} profiles  {}", path.display()),
            None => {
                println!("  {name:24} {count:>4} profiles  missing");
                missing.push(*name);
            }
        }
    }
    println!("devices:");
    let devices = output::without_errors(litmake::gpu::device::list);
    for device in &devices {
        println!("  {device}");
    }
    if devices.is_empty() {
        println!("  no Vulkan device; mesa-vulkan-drivers has one in software");
    }
    for broken in profiles.broken() {
        println!("{broken}");
    }
    match args.cache.open() {
        Ok(store) => {
            let state = if store.is_read_only() { "read only" } else { "writable" };
            println!("cache: {} ({state})", store.dir().display());
        }
        Err(e) => println!("cache: {e}"),
    }
    if missing.is_empty() {
        println!("everything that the profiles need is here");
    } else {
        println!(
            "to install what is missing (all that this distribution has: scripts/setup --all):"
        );
        let missing_of_debian = missing.iter().filter(|c| process::wheel(c).is_none());
        let packages: BTreeSet<String> = missing_of_debian.filter_map(|c| package(c)).collect();
        let (here, newer) = known_to_apt(packages);
        if !here.is_empty() {
            println!("  apt-get install {}", here.join(" "));
        }
        if !newer.is_empty() {
            println!("  scripts/newest          what this distribution is too old for, beside it:");
            println!("                          {}", newer.join(" "));
        }
        if missing.contains(&"naga") {
            println!("  cargo install --locked naga-cli");
        }
        let folder = process::toolchains().into_iter().next().unwrap_or_default();
        for command in &missing {
            let Some(wheel) = process::wheel(command).filter(|w| w.setup.is_none()) else {
                continue;
            };
            let (name, version, folder) = (wheel.name, wheel.version, folder.join(command));
            println!("  python3 -m pip install --target {} {name}=={version}", folder.display());
        }
        let wheels = missing.iter().filter_map(|command| process::wheel(command));
        let options: BTreeSet<&str> = wheels.filter_map(|wheel| wheel.setup).collect();
        for option in options {
            println!("  scripts/setup {option}");
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::package;

    #[test]
    fn commands_are_in_packages_of_debian() {
        for (command, wanted) in [
            ("clang-16", Some("clang-16")),
            ("clang++-22", Some("clang-22")),
            ("gcc-12", Some("gcc-12")),
            ("g++-12", Some("g++-12")),
            ("powerpc64le-linux-gnu-gcc-11", Some("gcc-11-powerpc64le-linux-gnu")),
            ("aarch64-linux-gnu-g++-12", Some("g++-12-aarch64-linux-gnu")),
            ("spirv-opt", Some("spirv-tools")),
            ("naga", None),
            ("gcc", Some("gcc")),
            ("aarch64-linux-gnu-gcc", Some("gcc-aarch64-linux-gnu")),
        ] {
            assert_eq!(package(command).as_deref(), wanted, "{command}");
        }
    }
}
