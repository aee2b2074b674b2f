//! herd's configuration files, which name a model with all that belongs to it: one option a line.

use std::path::{Path, PathBuf};

use super::load::{Files, LoadOptions};
use litmake_base::diag::{Diag, Result, Source, Span, nearest};
use litmake_litmus::Arch;

/// The settings of a simulation in a configuration file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Conf {
    /// The model that it names.
    pub model: Option<String>,
    /// The bell file that it names.
    pub bell: Option<String>,
    /// The file of macros that it names.
    pub macros: Option<String>,
    /// The variants that it sets.
    pub variants: Vec<String>,
    /// Names of checks that are left out of the model.
    pub skip: Vec<String>,
    /// The folders in which the named files are looked for.
    pub include: Vec<PathBuf>,
    /// How often loops may run, if it says so.
    pub unroll: Option<u32>,
}

/// Options that change the meaning of a test and that litmake does not have.
const REFUSED: &[&str] = &[
    "strictskip",
    "initwrites",
    "optace",
    "through",
    "kinds",
    "conds",
    "rename",
    "names",
    "excl",
    "nonames",
    "dirty",
    "cycles",
    "restrict",
    "conf",
    "local-conf",
    "machsize",
    "endian",
    "oknames",
];

/// Options about what herd draws and prints, and how long it takes.
const PASSED_OVER: &[&str] = &[
    "",
    "none",
    "verbose",
    "suffix",
    "timeout",
    "debug",
    "archcheck",
    "speedcheck",
    "badexecs",
    "badflag",
    "dumpallfaults",
    "show",
    "showflag",
    "nshow",
    "showkind",
    "shortlegend",
    "texmacros",
    "hexa",
    "outcomereads",
    "dotmode",
    "dotcom",
    "view",
    "showevents",
    "graph",
    "mono",
    "fontname",
    "fontsize",
    "edgefontsizedelta",
    "penwidth",
    "arrowsize",
    "splines",
    "overlap",
    "sep",
    "margin",
    "pad",
    "scale",
    "xscale",
    "yscale",
    "dsiy",
    "siwidth",
    "boxscale",
    "ptscale",
    "squished",
    "showpo",
    "relabel",
    "withbox",
    "labelbox",
    "showfinalrf",
    "showinitrf",
    "finalrfpos",
    "initrfpos",
    "finaldotpos",
    "oneinit",
    "labelinit",
    "initpos",
    "threadposy",
    "showinitwrites",
    "showthread",
    "showlegend",
    "brackets",
    "showobserved",
    "movelabel",
    "fixedsize",
    "extrachars",
    "dotheader",
    "doshow",
    "unshow",
    "noid",
    "symetric",
    "classes",
    "showraw",
    "edgeattr",
    "shift",
    "edgemerge",
    "outputdir",
    "dumpes",
    "moreedges",
];

/// Reads a configuration file. How executions are drawn and printed is passed over.
pub fn read(source: &Source) -> Result<Conf> {
    let mut conf = Conf::default();
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        let at = start + (line.len() - line.trim_start().len());
        start += line.len();
        let text = line.split('#').next().unwrap_or("").trim();
        let (key, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let value = value.trim().trim_matches('"');
        let span = Span::new(at, at + text.len());
        match key {
            "model" | "cat" => conf.model = Some(value.to_string()),
            "bell" => conf.bell = Some(value.to_string()),
            "macros" => conf.macros = Some(value.to_string()),
            "variant" => conf.variants.extend(value.split(',').map(|v| v.trim().to_string())),
            "skipcheck" | "skipchecks" => {
                conf.skip.extend(value.split(',').map(|v| v.trim().to_string()));
            }
            "include" | "I" => conf.include.push(PathBuf::from(value)),
            "unroll" => match value.parse() {
                Ok(n) => conf.unroll = Some(n),
                Err(_) => {
                    let message = format!("`{value}` is no number of turns of a loop");
                    return Err(Diag::at(source, span, message));
                }
            },
            _ if REFUSED.contains(&key) => {
                let message = format!("the option `{key}` of herd is not supported");
                return Err(Diag::at(source, span, message)
                    .help("take the line out: without it, a model is run as it is written"));
            }
            _ if PASSED_OVER.contains(&key) => {}
            _ => {
                let diag = Diag::at(source, span, format!("herd has no option `{key}`"));
                let near = nearest(key, PASSED_OVER.iter().chain(REFUSED).copied());
                return Err(match near {
                    Some(near) => diag.help(format!("did you mean `{near}`?")),
                    None => diag.help("take the line out"),
                });
            }
        }
    }
    Ok(conf)
}

/// The text of a file that is named by its path, or lies in one of the folders.
pub fn find(name: &str, what: &str, folders: &[PathBuf], files: &dyn Files) -> Result<Source> {
    let places = std::iter::once(PathBuf::from(name)).chain(folders.iter().map(|d| d.join(name)));
    for path in places {
        match files.read(&path) {
            Ok(Some(text)) => return Ok(Source::new(path.display().to_string(), text)),
            Ok(None) => {}
            Err(e) => return Err(Diag::new(format!("cannot read {}: {e}", path.display()))),
        }
    }
    Err(Diag::new(format!("there is no {what} `{name}`"))
        .help("give its path, or `-I` with the folder that holds it"))
}

/// Whether a model is named by a configuration file.
pub fn is(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == "cfg")
}

impl Conf {
    /// Reads a configuration file; its folder is searched for the files that it names.
    pub fn of_file(path: &str, files: &dyn Files) -> Result<Conf> {
        let source = find(path, "configuration file", &[], files)?;
        let mut conf = read(&source)?;
        if conf.model.is_none() {
            return Err(
                Diag::new(format!("{path} names no model")).help("add a line `model NAME.cat`")
            );
        }
        let folder = Path::new(path).parent().unwrap_or(Path::new("")).to_path_buf();
        for dir in &mut conf.include {
            *dir = folder.join(&*dir);
        }
        conf.include.insert(0, folder);
        Ok(conf)
    }

    /// How its model is loaded.
    pub fn options(&self, arch: Arch) -> LoadOptions {
        LoadOptions {
            include_dirs: self.include.clone(),
            variants: self.variants.clone(),
            bell: self.bell.clone(),
            skip: self.skip.clone(),
            arch,
        }
    }

    /// The text of its macro file, where it names one.
    pub fn macros(&self, files: &dyn Files) -> Result<Option<Source>> {
        let find = |name: &String| find(name, "macro file", &self.include, files);
        self.macros.as_ref().map(find).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_model_is_read_and_the_rest_passed_over() {
        let text = "# ours\nmacros a.def\nbell a.bell\n model a.cat\nvariant one,two\n\
            graph columns\nunroll 3\nskipchecks rcu,sc\nedgeattr hb,color,red\n";
        let conf = read(&Source::new("a.cfg", text)).unwrap();
        assert_eq!(conf.macros.as_deref(), Some("a.def"));
        assert_eq!(conf.bell.as_deref(), Some("a.bell"));
        assert_eq!(conf.model.as_deref(), Some("a.cat"));
        assert_eq!(conf.variants, ["one", "two"]);
        assert_eq!(conf.unroll, Some(3));
        assert_eq!(conf.skip, ["rcu", "sc"]);
    }

    #[test]
    fn what_is_unknown_is_an_error() {
        let error = |text| read(&Source::new("a.cfg", text)).unwrap_err().to_string();
        assert!(
            error("model a.cat\nnonsense true\n")
                .starts_with("a.cfg:2:1: error: herd has no option")
        );
        assert!(
            error("local-conf b.cfg\n").starts_with("a.cfg:1:1: error: the option `local-conf`")
        );
    }

    #[test]
    fn what_would_change_an_answer_is_refused() {
        let error = read(&Source::new("a.cfg", "model a.cat\ninitwrites true\n")).unwrap_err();
        assert!(error.to_string().starts_with("a.cfg:2:1: error: the option `initwrites`"));
    }
}
