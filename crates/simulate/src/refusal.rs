//! Why a plan cannot be simulated.

use scenario::capability::Obstacle;

/// Why a plan cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A discipline or conditioner refused its parameters.
    #[error(transparent)]
    World(#[from] engine::Refusal),
    /// A guest kernel does not start.
    #[error(transparent)]
    Guest(#[from] guest::Error),
    /// The plan asks for something that a simulation lacks.
    #[error(transparent)]
    Obstacle(#[from] Obstacle),
}
