import Foundation
import LFSHTTP
import LFSSystem
import TestSupport
import Testing

@testable import LFSCurl

/// Tests of requests that have not begun when the engine shuts down.
@Suite(.timeLimit(.minutes(10))) struct ShutdownTests {
    private let origin = HTTPOrigin(isSecure: false, host: "127.0.0.1", port: 1)

    @Test func aRequestThatComesTogetherWithTheShutdownIsAnswered() async throws {
        let thread = Self.thread(.plain())
        let inbox = thread.inbox
        let outcome = try await code {
            try await Transfer(HTTPRequest(.get, origin: origin, target: "/")).result { transfer in
                _ = inbox.submit(transfer)
                // The inbox is closed before the thread's first check, so that the thread finds both at once.
                inbox.close()
                Self.startLoop(of: thread)
            } cancel: {
                inbox.cancel($0)
            }
        }
        #expect(outcome == .closed)
        await inbox.waitUntilClosed()
    }

    @Test func requestsThatWaitForTheirTurnEndWithTheShutdownAndNothingHoldsThem() async throws {
        let arrived = EventLog<Int>()
        let server = try ScriptedServer { _, connection in
            arrived.add(1)
            connection.hang()
        }
        let thread = Self.thread(.plain { $0.maxRequestsPerOrigin = 1 })
        let inbox = thread.inbox
        weak var lastCanary: Canary?
        try await withThrowingTaskGroup(of: HTTPError.Code?.self) { group in
            let submitted = EventLog<Int>()
            for index in 0..<4 {
                let canary = Canary()
                if index == 3 { lastCanary = canary }
                var request = try HTTPRequest(.get, server: server)
                request.onProgress = { _ in withExtendedLifetime(canary) {} }
                let transfer = Transfer(request)
                group.addTask {
                    try await code {
                        try await transfer.result { transfer in
                            _ = inbox.submit(transfer)
                            submitted.add(index)
                        } cancel: {
                            inbox.cancel($0)
                        }
                    }
                }
            }
            await submitted.wait { $0.count == 4 }
            // All four are in its first batch. The server has one of them, and three are waiting.
            Self.startLoop(of: thread)
            await arrived.wait { !$0.isEmpty }
            inbox.close()
            for try await outcome in group { #expect(outcome == .closed) }
        }
        await inbox.waitUntilClosed()
        #expect(server.requests.count == 1)
        #expect(lastCanary == nil, "a request that has ended is still held")
        server.close()
    }

    private final class Canary: Sendable {}

    /// Returns an engine whose thread the test starts.
    private static func thread(_ options: HTTPOptions) -> EngineThread {
        EngineThread(options, time: { .now }) { _ throws(SystemError) in }
    }

    private static func startLoop(of thread: EngineThread) {
        Thread.detachNewThread { thread.runLoop() }
    }
}
