extension Clock<Duration> {
    /// Returns a function that returns the time since this call.
    func stopwatch() -> () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
