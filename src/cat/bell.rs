//! Reads which annotations a bell file declares for events.
//!
//! `eval` runs its definitions like those of any model. Nothing here knows tests.

use std::collections::HashMap;

use super::ast::{BinOp, Expr, ExprKind, Ins, InsKind, Name};
use super::load::Loaded;
use litmake_base::diag::{Diag, Result, Source};
use litmake_ops::Annotations;

/// The annotations of the file `root` and of what it includes.
pub(super) fn declared(files: &[(String, Loaded)], root: usize) -> Result<Annotations> {
    let mut reader = Reader { files, enums: HashMap::new(), out: Annotations::default() };
    reader.file(root)?;
    Ok(reader.out)
}

struct Reader<'f> {
    files: &'f [(String, Loaded)],
    enums: HashMap<Name, &'f [Name]>,
    out: Annotations,
}

impl<'f> Reader<'f> {
    /// (Loading has made sure that includes form no cycle.)
    fn file(&mut self, at: usize) -> Result<()> {
        let file = &self.files[at].1;
        for ins in &file.ast.body {
            self.instruction(ins, file)?;
        }
        Ok(())
    }

    fn instruction(&mut self, ins: &'f Ins, file: &'f Loaded) -> Result<()> {
        match &ins.kind {
            InsKind::Include(_) => match file.includes.get(&ins.span.start) {
                Some(target) => self.file(*target),
                None => Ok(()),
            },
            InsKind::Enum(name, tags) => {
                self.enums.insert(name.clone(), tags);
                Ok(())
            }
            InsKind::Events { args, default: false, .. } => {
                args.iter().try_for_each(|arg| self.tags(arg, &file.source))
            }
            _ => Ok(()),
        }
    }

    /// Notes the tags of one position of a declaration.
    fn tags(&mut self, e: &'f Expr, source: &Source) -> Result<()> {
        let error = |message: String| Diag::at(source, e.span, message);
        match &e.kind {
            ExprKind::Tag(tag) => self.add(tag, source, e),
            ExprKind::Var(name) => match self.enums.get(name).copied() {
                Some(tags) => tags.iter().try_for_each(|tag| self.add(tag, source, e)),
                None => Err(error(format!("`{name}` is not an enumeration"))
                    .help("declare it before, as in `enum Accesses = 'once || 'release`")),
            },
            ExprKind::Set(items) | ExprKind::Bin(BinOp::Union, items) => {
                items.iter().try_for_each(|item| self.tags(item, source))
            }
            _ => Err(error("these annotations are not known before a model runs".to_string())
                .help("expected an enumeration, or tags in braces: `{'once, 'release}`")),
        }
    }

    fn add(&mut self, tag: &str, source: &Source, e: &Expr) -> Result<()> {
        match self.out.add(tag) {
            true => Ok(()),
            false => {
                let most = Annotations::MOST;
                let message = format!("a bell file declares at most {most} annotations");
                Err(Diag::at(source, e.span, message))
            }
        }
    }
}
