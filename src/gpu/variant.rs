//! The variants of a test's code: the translator to SPIR-V, the memory model that it declares, and the
//! checks that a compiler adds. It knows no device.

/// Which memory model a module declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryModel {
    /// The one of every version of Vulkan.
    Glsl450,
    /// A feature of devices: `vulkanMemoryModel` and `vulkanMemoryModelDeviceScope`.
    Vulkan,
}

/// The translator of a test to SPIR-V.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// WGSL, compiled by naga.
    Naga {
        /// Whether naga keeps loops finite.
        loops: bool,
    },
    /// Words that [`super::spirv`] writes and that go to the driver as they are.
    Words(MemoryModel),
}

/// How shaders are compiled, as far as that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variant {
    /// Accesses are kept in bounds.
    pub bounds: bool,
    /// The translator of a test to SPIR-V.
    pub code: Code,
}

impl Variant {
    /// The variant that users of wgpu get.
    pub const CHECKED: Variant = Variant { bounds: true, code: Code::Naga { loops: true } };

    /// Every variant.
    pub const ALL: [Variant; 8] = [
        Variant::CHECKED,
        Variant { bounds: true, code: Code::Naga { loops: false } },
        Variant { bounds: false, code: Code::Naga { loops: true } },
        Variant { bounds: false, code: Code::Naga { loops: false } },
        Variant { bounds: false, code: Code::Words(MemoryModel::Glsl450) },
        Variant { bounds: true, code: Code::Words(MemoryModel::Glsl450) },
        Variant { bounds: false, code: Code::Words(MemoryModel::Vulkan) },
        Variant { bounds: true, code: Code::Words(MemoryModel::Vulkan) },
    ];

    /// Its name, as users and result files have it.
    pub fn name(self) -> &'static str {
        match (self.code, self.bounds) {
            (Code::Naga { loops: true }, true) => "checked",
            (Code::Naga { loops: false }, true) => "bounds",
            (Code::Naga { loops: true }, false) => "loops",
            (Code::Naga { loops: false }, false) => "unchecked",
            (Code::Words(MemoryModel::Glsl450), false) => "spirv",
            (Code::Words(MemoryModel::Glsl450), true) => "spirv-bounds",
            (Code::Words(MemoryModel::Vulkan), false) => "vulkan",
            (Code::Words(MemoryModel::Vulkan), true) => "vulkan-bounds",
        }
    }

    /// The variant of this name.
    pub fn named(word: &str) -> Option<Variant> {
        Variant::ALL.into_iter().find(|v| v.name() == word)
    }

    /// The memory model that the code of the test declares.
    pub fn memory_model(self) -> MemoryModel {
        match self.code {
            Code::Naga { .. } => MemoryModel::Glsl450,
            Code::Words(model) => model,
        }
    }

    /// Whether the code can state the scope of an access or a fence, and the order of an access.
    pub fn has_words(self) -> bool {
        matches!(self.code, Code::Words(_))
    }
}

/// How far fences and accesses reach. Not all of it can be said in every variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Threads of one subgroup.
    Subgroup,
    /// Threads of one workgroup.
    Workgroup,
    /// Threads on queues of one family.
    QueueFamily,
    /// All threads of the device.
    #[default]
    Device,
}

impl Scope {
    /// Every scope, the widest first.
    pub const ALL: [Scope; 4] =
        [Scope::Device, Scope::QueueFamily, Scope::Workgroup, Scope::Subgroup];

    /// Its name, as users and result files have it.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Device => "device",
            Scope::QueueFamily => "queue",
            Scope::Workgroup => "workgroup",
            Scope::Subgroup => "subgroup",
        }
    }

    /// The scope of this name.
    pub fn named(word: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|s| s.name() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_read_back() {
        for v in Variant::ALL {
            assert_eq!(Variant::named(v.name()), Some(v));
        }
        for s in Scope::ALL {
            assert_eq!(Scope::named(s.name()), Some(s));
        }
        assert_eq!((Variant::named("naga"), Scope::named("system")), (None, None));
        assert!(Scope::Workgroup < Scope::QueueFamily);
    }
}
