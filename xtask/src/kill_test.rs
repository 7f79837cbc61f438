//! stub
pub fn main(_: &[String]) -> Result<(), String> { Err("x".into()) }
