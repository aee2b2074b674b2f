//! Holds values that several stages use, one of each type. This file names no type of a single
//! stage: every file that a stage's file names is part of the keys of its results.

use std::any::{Any, TypeId};
use std::collections::HashMap;

/// Holds at most one value of each type.
#[derive(Default)]
pub struct Shared(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl Shared {
    pub fn of<T: Any + Default + Send + Sync>(&mut self) -> &mut T {
        let made = self.0.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(T::default()));
        made.downcast_mut().expect("what is kept under a type is of it")
    }

    pub fn take<T: Any + Default>(&mut self) -> T {
        let made = self.0.remove(&TypeId::of::<T>()).and_then(|made| made.downcast().ok());
        made.map_or_else(T::default, |made| *made)
    }

    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }
}
