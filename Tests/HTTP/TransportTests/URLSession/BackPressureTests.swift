import Foundation
import LFSHTTP
import LFSSystem
import Synchronization
import Testing

@testable import LFSURLSession

@Suite("Back pressure on a connection", .timeLimit(.minutes(10))) struct BackPressureTests {
    /// A connection that records its pauses, and the state of its reader. The mutexes own the state.
    private final class Connection: Sendable {
        enum Call: Sendable { case suspend, resume }

        let isFull = Mutex(false)
        let calls = Mutex<[Call]>([])

        /// - Parameter onSuspend: called during a pause.
        func makePressure(onSuspend: @escaping @Sendable () -> Void = {}) -> BackPressure {
            BackPressure(
                isFull: { self.isFull.withLock { $0 } },
                suspend: {
                    self.calls.withLock { $0.append(.suspend) }
                    onSuspend()
                },
                resume: { self.calls.withLock { $0.append(.resume) } })
        }
    }

    @Test("A reader that is full three times pauses and resumes its connection once")
    func balance() {
        let connection = Connection()
        let pressure = connection.makePressure()
        connection.isFull.withLock { $0 = true }
        for _ in 0..<3 { pressure.update() }
        #expect(connection.calls.withLock { $0 } == [.suspend])
        connection.isFull.withLock { $0 = false }
        pressure.update()
        #expect(connection.calls.withLock { $0 } == [.suspend, .resume])
    }

    @Test("A reader that has room again before the pause leaves its connection running")
    func earlyRoom() {
        let connection = Connection()
        let pressure = connection.makePressure()
        connection.isFull.withLock { $0 = true }
        connection.isFull.withLock { $0 = false }
        pressure.update()
        pressure.update()
        #expect(connection.calls.withLock { $0 } == [])
    }

    @Test("A reader that has room again during the pause resumes its connection")
    func roomDuringThePause() {
        let connection = Connection()
        let made = Mutex<BackPressure?>(nil)
        let pressure = connection.makePressure(onSuspend: {
            connection.isFull.withLock { $0 = false }
            made.withLock { $0 }?.update()
        })
        made.withLock { $0 = pressure }
        connection.isFull.withLock { $0 = true }
        pressure.update()
        #expect(connection.calls.withLock { $0 } == [.suspend, .resume])
    }

    @Test("A relay with a slow sink pauses its connection once and leaves it running")
    func relay() async {
        let connection = Connection()
        let made = Mutex<BackPressure?>(nil)
        let (began, ended) = (Latch(), Latch())
        let gate = DispatchSemaphore(value: 0)
        let relay = ReplyRelay({ _ in
            began.open()
            gate.wait()
        }) { made.withLock { $0 }?.update() }
        let pressure = BackPressure(
            isFull: { relay.isHeldBack }, suspend: { connection.calls.withLock { $0.append(.suspend) } },
            resume: { connection.calls.withLock { $0.append(.resume) } })
        made.withLock { $0 = pressure }
        let piece = [UInt8](repeating: 1, count: 1 << 20)
        let first = piece.withUnsafeBytes { relay.keep($0) }
        #expect(first == .taken)
        // From here on the sink holds the first piece.
        await began.wait()
        var answers: [ReplyRelay.Answer] = []
        for _ in 0..<4 {
            let answer = piece.withUnsafeBytes { relay.keep($0) }
            if answer == .full { pressure.update() }
            answers.append(answer)
        }
        #expect(answers == [.taken, .full, .full, .full])
        #expect(connection.calls.withLock { $0 } == [.suspend])
        // The sink receives the other pieces together.
        for _ in 0..<2 { gate.signal() }
        relay.finish(discarding: false) { _ in ended.open() }
        await ended.wait()
        #expect(connection.calls.withLock { $0 } == [.suspend, .resume])
    }
}
