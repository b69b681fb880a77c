//! A model checker over the lease protocol: the real `decide`, between two or three replicas and a store that fail in
//! every way that the promise covers. All orders of events up to a bound are explored; with any protection switched
//! off, the checker must find the history that breaks a promise. `make model` explores further.

mod action;
mod exchange;
mod explore;
mod promise;
mod protections;
mod replica;
mod run;
mod setting;
mod store;
mod trace;
mod whole;
mod world;
