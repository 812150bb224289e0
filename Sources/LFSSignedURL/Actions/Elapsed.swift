/// The time since a moment in this process, which never jumps: a wrong date on the device makes no signature older.
struct Elapsed: Sendable {
    private let read: @Sendable () -> Duration

    init(_ clock: any Clock<Duration>) { self.init(since: clock) }

    private init(since clock: some Clock<Duration>) {
        let start = clock.now
        read = { start.duration(to: clock.now) }
    }

    var now: Duration { read() }
}
