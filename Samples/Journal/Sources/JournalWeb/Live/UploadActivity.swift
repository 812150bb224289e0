import Foundation
import LFS
import ServiceLifecycle
import Synchronization

/// Counts what went to the storage in each of the last minutes, and how much waited: what the chart shows.
///
/// The counts are its own. They begin with the process; the rows are the truth.
final class UploadActivity: Service {
    struct Minute: Hashable, Sendable {
        /// Minutes since 1970.
        let number: Int
        /// Files that were uploaded in it.
        var uploaded = 0
        /// The most files that waited.
        var waiting = 0
    }

    static let count = 60

    private let lfs: LFSManager
    private let events: AsyncStream<LFSEvent>
    private let state = Mutex<(minutes: [Minute], counted: Date)>(([], .distantPast))

    init(lfs: LFSManager) {
        self.lfs = lfs
        events = lfs.events()
    }

    func run() async throws {
        for await event in events.cancelOnGracefulShutdown() {
            let now = Date()
            if case .uploaded = event { add(at: now) { $0.uploaded += 1 } }
            // Not at every file: the queue is counted once a second at the most.
            let isTime = state.withLock { state in
                guard now.timeIntervalSince(state.counted) >= 1 else { return false }
                state.counted = now
                return true
            }
            guard isTime, let status = try? await lfs.status() else { continue }
            add(at: now) { $0.waiting = max($0.waiting, status.local) }
        }
    }

    /// The last hour, the oldest minute first.
    func minutes(until now: Date = Date()) -> [Minute] {
        let last = Self.number(now)
        let known = state.withLock { $0.minutes }
        return (last - Self.count + 1...last).map { number in
            known.first { $0.number == number } ?? Minute(number: number)
        }
    }

    private func add(at now: Date, _ change: (inout Minute) -> Void) {
        let number = Self.number(now)
        state.withLock { state in
            if state.minutes.last?.number != number { state.minutes.append(Minute(number: number)) }
            if state.minutes.count > Self.count { state.minutes.removeFirst() }
            change(&state.minutes[state.minutes.count - 1])
        }
    }

    private static func number(_ date: Date) -> Int { Int(date.timeIntervalSince1970 / 60) }
}
