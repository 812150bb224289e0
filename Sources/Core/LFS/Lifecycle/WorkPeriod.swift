import LFSSystem

/// A period of background work. It begins with a start or the end of a suspension, and ends with the next suspension or
/// the stop.
final class WorkPeriod: Sendable {
    /// Opens when the work has to end. Running uploads may continue for a while.
    let ending = Latch()
    /// Opens when running uploads, calls and downloads have to end at once.
    let overdue = Latch()
    /// Opens when no work is running any more. It stays closed without background work.
    let ended = Latch()
}
