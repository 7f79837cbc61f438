//! The settings that the tuner may change while the server runs.

use vaquita_storage::Store;
use vaquita_types::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setting {
    /// Bytes of all caches and memtables.
    Caches,
    /// Bytes of one memtable.
    WriteBuffer,
    /// Threads that flush and compact.
    BackgroundJobs,
    /// Files of level 0 that start a compaction.
    Level0Files,
}

impl Setting {
    pub const ALL: [Setting; 4] = [Setting::Caches, Setting::WriteBuffer, Setting::BackgroundJobs, Setting::Level0Files];

    pub fn name(self) -> &'static str {
        match self {
            Setting::Caches => "caches",
            Setting::WriteBuffer => "write_buffer",
            Setting::BackgroundJobs => "background_jobs",
            Setting::Level0Files => "level0_files",
        }
    }

    /// Windows until a change has its effect.
    pub fn settles_in(self) -> u32 {
        match self {
            // A cache fills by what is read, a memtable by what is written.
            Setting::Caches | Setting::WriteBuffer => 3,
            Setting::BackgroundJobs | Setting::Level0Files => 1,
        }
    }

    pub fn apply(self, value: u64, store: &Store) -> Result<()> {
        match self {
            Setting::Caches => store.set_cache_bytes(value as usize),
            Setting::WriteBuffer => store.set_write_buffer_bytes(value as usize)?,
            Setting::BackgroundJobs => store.set_background_jobs(value as usize)?,
            Setting::Level0Files => store.set_level0_files(value)?,
        }
        Ok(())
    }

    /// As it stands in texts.
    pub fn shown(self, value: u64) -> String {
        match self {
            Setting::Caches | Setting::WriteBuffer => format!("{} MiB", value >> 20),
            Setting::BackgroundJobs | Setting::Level0Files => value.to_string(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    pub value: u64,
    pub lowest: u64,
    pub highest: u64,
    /// It can have an effect on what the server does at present.
    pub matters: bool,
}

impl Bounds {
    /// The next value in a direction, if there is one.
    pub fn step(&self, setting: Setting, up: bool) -> Option<u64> {
        let Bounds { value, lowest, highest, .. } = *self;
        let next = match (setting, up) {
            (Setting::Caches, true) => value + value / 4,
            (Setting::Caches, false) => value - value / 5,
            (Setting::WriteBuffer | Setting::Level0Files, true) => value * 2,
            (Setting::WriteBuffer | Setting::Level0Files, false) => value / 2,
            (Setting::BackgroundJobs, true) => value + 1,
            (Setting::BackgroundJobs, false) => value.saturating_sub(1),
        };
        let next = next.min(highest.max(value)).max(lowest.min(value));
        // Less than a twentieth is no step.
        (next.abs_diff(value) > value / 20).then_some(next)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Settings([Bounds; Setting::ALL.len()]);

impl Settings {
    pub fn of(&self, setting: Setting) -> &Bounds {
        &self.0[setting as usize]
    }

    pub fn of_mut(&mut self, setting: Setting) -> &mut Bounds {
        &mut self.0[setting as usize]
    }
}
