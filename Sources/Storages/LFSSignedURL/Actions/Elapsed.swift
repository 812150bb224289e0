/// A monotonic clock that starts at zero. A wrong date on the device does not change the age of a signature.
struct Elapsed: Sendable {
    private let read: @Sendable () -> Duration

    init(_ clock: any Clock<Duration>) { self.init(since: clock) }

    private init(since clock: some Clock<Duration>) {
        let start = clock.now
        read = { start.duration(to: clock.now) }
    }

    var now: Duration { read() }
}
