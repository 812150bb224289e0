import Foundation
import LFS
import LFSBackground
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@Suite("Events of background tasks", .timeLimit(.minutes(10)))
struct EventTests {
    @Test("The ordinary upload confirms what the service has sent without sending it again", arguments: [1, 3])
    func confirmed(parts: Int) async throws {
        try await BackgroundHost.run { host, store in
            let session = RecordingSession()
            let byteCount = parts == 1 ? 1_000 : (parts - 1) * StoreServer.partSize + 10
            try await host.launch(with: session) { app in
                let file = try await app.attach(byteCount)
                try await app.uploads.handOver()
                #expect(session.tasks.count == parts)
                for task in session.tasks { #expect(try await session.send(task) < 300) }
                try await app.handlingEvents {
                    for task in session.tasks { session.end(task) }
                    try await yieldAsync { try await app.dueCount() == 0 }
                    #expect(try await app.file(file.id)?.status == .local, "An event confirms nothing.")
                    try app.lfs.start()
                    try await app.lfs.waitForUploads()
                }
                #expect(try await app.file(file.id)?.status == .remote)
                #expect(store.puts.count == parts, "Only the service has sent bytes.")
                #expect(try host.partFiles() == [])
                #expect(try await app.count("lfs_loan") == 0)
            }
            #expect(try host.storedObjects().count == 1)
        }
    }

    @Test("A reply without the bytes costs a second upload", arguments: ["lie", "refuse", "lost"])
    func untrue(kind: String) async throws {
        try await BackgroundHost.run { host, store in
            let session = RecordingSession()
            try await host.launch(with: session) { app in
                let file = try await app.attach()
                try await app.uploads.handOver()
                let task = try #require(session.tasks.first)
                store.fault = kind == "lie" ? .lie : .refuse
                let status = try await session.send(task)
                store.fault = nil
                try await app.handlingEvents {
                    if kind == "lost" {
                        session.lose(task)
                        try await app.uploads.refresh()
                    } else {
                        session.end(task, outcome: .replied(status: status, isRedirected: false))
                    }
                    try await yieldAsync { try await app.dueCount() == 0 }
                    try app.lfs.start()
                    try await app.lfs.waitForUploads()
                }
                #expect(try await app.file(file.id)?.status == .remote)
            }
            #expect(try host.storedObjects().values.map(Array.init) == [SampleBytes.make(1_000)])
        }
    }

    @Test("Bytes that a redirect has sent to another server are not believed")
    func followedRedirect() async throws {
        try await BackgroundHost.run { host, store in
            let count = Mutex(0)
            let elsewhere = try ScriptedServer { request, connection in
                _ = try connection.readBody(of: request)
                count.withLock { $0 += 1 }
                try connection.reply(200)
            }
            defer { elsewhere.close() }
            store.fault = .redirect(to: elsewhere.url)
            let spool = host.folder.child("spool")
            let session = try SimulatedDaemon.session(spool: spool)
            try await host.launch(with: session) { app in
                let file = try await app.attach()
                try await app.uploads.handOver()
                async let daemon: Void = SimulatedDaemon(spool: spool, faults: .init(seed: 1)).run()
                try await app.handlingEvents {
                    try await yieldAsync { try await app.dueCount() == 0 }
                    #expect(count.withLock(\.self) == 1)
                    store.fault = nil
                    try SimulatedDaemon.stop(spool: spool)
                    try app.lfs.start()
                    try await app.lfs.waitForUploads()
                }
                try await daemon
                #expect(try await app.file(file.id)?.status == .remote)
            }
            #expect(try host.storedObjects().values.map(Array.init) == [SampleBytes.make(1_000)])
        }
    }

    @Test("A redirect counts as a failure, and the file is not handed over again")
    func redirected() async throws {
        try await BackgroundHost.run { host, _ in
            let session = RecordingSession()
            try await host.launch(with: session) { app in
                _ = try await app.attach()
                try await app.uploads.handOver()
                try await app.handlingEvents {
                    // The comparison at the start of the app would end the loan before the event arrives.
                    try await yieldAsync { session.lookCount < 2 }
                    session.end(
                        try #require(session.tasks.first), outcome: .replied(status: 200, isRedirected: true))
                    try await yieldAsync { try await app.dueCount() == 0 }
                    #expect(try await app.uploads.handOver() == 0)
                }
            }
        }
    }

    @Test("Repeated, foreign and malformed events change nothing")
    func odd() async throws {
        try await BackgroundHost.run { host, _ in
            let session = RecordingSession()
            try await host.launch(with: session) { app in
                _ = try await app.attach(StoreServer.partSize + 1)
                _ = try await app.attach(seed: 2)
                try await app.uploads.handOver()
                let task = try #require(session.tasks.first)
                let rest = task.label.split(separator: "/")
                let odd = [
                    "", "/", "a/b", "other/\(rest[1])", String(rest[0]),
                    "\(rest[0])/\(FileID.make()).1.\(FileID.make())",
                    "\(rest[0])/../../\(rest[1])", "\(rest[0])/\(rest[1]).1",
                ]
                try await app.handlingEvents {
                    for label in odd { session.deliver(.ended(label: label, outcome: .failed("odd"))) }
                    session.end(task)
                    for _ in 0..<3 { session.deliver(.ended(label: task.label, outcome: .failed("again"))) }
                    session.deliver(.allDelivered)
                    try await yield(while: session.finishCount == 0)
                    #expect(try await app.count("lfs_loan") == 2)
                    #expect(session.tasks.count == 2)
                    #expect(try host.partFiles().count == 2)
                }
            }
        }
    }

    @Test("The next launch cancels unknown tasks and ends loans without a task")
    func relaunch() async throws {
        try await BackgroundHost.run { host, _ in
            let session = RecordingSession()
            try await host.launch(with: session) { app in
                for seed in 1...3 { _ = try await app.attach(seed: UInt64(seed)) }
                try await app.uploads.handOver()
            }
            session.lose(try #require(session.tasks.first))
            let foreign = BackgroundTask(
                label: "foreign", url: try #require(URL(string: "http://127.0.0.1:9")), headers: [:],
                file: host.folder.child("none"))
            try await session.start(foreign)
            let name = "\(FileID.make().description).1.\(FileID.make().description)"
            try Data([1]).write(to: host.outgoing.child(name))
            try Data([1]).write(to: host.outgoing.child("notes.txt"))
            try await host.launch(with: session) { app in
                try await app.uploads.refresh()
                #expect(session.cancelled == ["foreign"])
                #expect(session.tasks.count == 2)
                #expect(try await app.count("lfs_loan") == 2)
                #expect(try await app.dueCount() == 1)
                let kept = session.tasks.map(\.file.lastPathComponent) + ["notes.txt"]
                #expect(try host.partFiles().sorted() == kept.sorted())
            }
        }
    }

    @Test("A loan ends after its time, and its task is cancelled")
    func expired() async throws {
        try await BackgroundHost.run { host, _ in
            let session = RecordingSession()
            try await host.launch(with: session) { app in
                _ = try await app.attach()
                try await app.uploads.handOver()
            }
            try await host.launch(
                with: session, configure: { options, _ in options.wallClock = { Date(timeIntervalSinceNow: 90_000) } }
            ) { app in
                try await app.uploads.refresh()
                #expect(session.tasks.isEmpty && session.cancelled.count == 1)
                #expect(try await app.count("lfs_loan") == 0)
                #expect(try host.partFiles() == [])
                try app.lfs.start()
                try await app.lfs.waitForUploads()
            }
            #expect(try host.storedObjects().count == 1)
        }
    }
}
