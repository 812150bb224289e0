import Dispatch
import Foundation
import GRDB
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFS

@Suite("Stopping a manager that is in use", .timeLimit(.minutes(10)))
struct StopTests {
    /// Waits at a gate that opens by cancellation alone, as far as a stop is concerned. Owner of the flag: the mutex.
    private final class Station: Sendable {
        let gate = Gate()
        private let left = Mutex(false)
        var isLeft: Bool { left.withLock { $0 } }

        func pass() async throws {
            defer { left.withLock { $0 = true } }
            try await gate.pass()
        }
    }

    @Test("ends a verification before it returns, and so does a reset: what was listed before is not deleted after it")
    func verification() async throws {
        for resets in [false, true] {
            try await withCheckedHost { checked in
                let files = try await checked.uploaded(3)
                let (lfs, station) = (try await checked.open(), Station())
                let first = Once()
                // The first list only asks whether it is the right storage.
                checked.storage.afterList { _ in if !first.take() { try await station.pass() } }
                async let outcome = errorCode {
                    _ = try await checked.verify(lfs, repairs: true) { $0.remoteGracePeriod = .zero }
                }
                await station.gate.reached.wait()
                if resets { try await lfs.reset(.everythingIsUploaded) } else { try await lfs.stop() }
                #expect(station.isLeft)
                station.gate.opened.open()
                #expect(await outcome == .notRunning)
                try #expect(checked.host.count("lfs_tombstone") == 0)
                for file in files { #expect(FileManager.default.fileExists(atPath: checked.object(file).path)) }
            }
        }
    }

    @Test("ends what frees space")
    func freeing() async throws {
        try await withHost { host in
            let (lfs, station) = (try await LFSManager.open(host.database, options: host.options), Station())
            try lfs.start()
            _ = try await keptFiles(2, host, lfs)
            async let outcome = errorCode {
                _ = try await lfs.evict(EvictionPolicy(maxByteCount: 0)) { _ in try await station.pass() }
            }
            await station.gate.reached.wait()
            try await lfs.stop()
            #expect(station.isLeft)
            station.gate.opened.open()
            #expect(await outcome == .notRunning)
        }
    }

    @Test("waits for what it has cancelled, also by the end of run()", arguments: [true, false])
    func slowEnd(_ runs: Bool) async throws {
        try await withHost { host in
            let (lfs, returned) = (try await LFSManager.open(host.database, options: host.options), Heard<Int>())
            // Whoever waits for it does not end with the task.
            let (begun, held) = (Latch(), Latch())
            try await withThrowingTaskGroup(of: Void.self) { group in
                if runs {
                    group.addTask {
                        try await lfs.run()
                        returned.add(1)
                    }
                    try await yield(while: !lfs.lifecycle.isRunning)
                } else {
                    try lfs.start()
                }
                _ = try await keptFiles(1, host, lfs)
                async let outcome = errorCode {
                    _ = try await lfs.evict(EvictionPolicy(maxByteCount: 0)) { _ in
                        begun.open()
                        await held.waitThroughCancellation()
                    }
                }
                await begun.wait()
                if runs {
                    group.cancelAll()
                } else {
                    group.addTask {
                        try await lfs.stop()
                        returned.add(1)
                    }
                }
                try await yield(while: !lfs.lifecycle.isStopRequested)
                try await yield(while: returned.values.isEmpty && lfs.lifecycle.waiterCount == 0)
                // Noted before what it has to wait for can end, so a stop that does not wait comes first.
                returned.add(0)
                held.open()
                _ = await outcome
                try await group.waitForAll()
                #expect(returned.values == [0, 1])
            }
        }
    }

    @Test("ends a file that is being made, and leaves nothing of it")
    func making() async throws {
        try await withHost { host in
            let (lfs, begun) = (try await LFSManager.open(host.database, options: host.options), Latch())
            let (chunks, source) = AsyncStream.makeStream(of: [UInt8].self)
            source.yield(someBytes(1 << 20))
            async let outcome = errorCode {
                _ = try await lfs.makeFile(from: .chunks(chunks)) { _ in begun.open() }
            }
            await begun.wait()
            try await lfs.stop()
            try #expect(FileManager.default.contentsOfDirectory(atPath: host.temporary.path) == [])
            source.finish()
            #expect(await outcome == .notRunning)
        }
    }

    @Test("ends a file that is read from a pipe nobody writes to any more")
    func makingFromPipe() async throws {
        try await withHost { host in
            let (lfs, begun, pipe) = (try await LFSManager.open(host.database, options: host.options), Latch(), Pipe())
            let writing = pipe.fileHandleForWriting
            try writing.write(contentsOf: Data(someBytes(1_000)))
            async let outcome = errorCode {
                _ = try await lfs.makeFile(from: .handle(pipe.fileHandleForReading)) { _ in begun.open() }
            }
            await begun.wait()
            try await lfs.stop()
            try #expect(FileManager.default.contentsOfDirectory(atPath: host.temporary.path) == [])
            // Without the stop this end of the pipe would have been the end of the file.
            try writing.close()
            #expect(await outcome == .notRunning)
        }
    }

    @Test("may be asked for by the one who is told a finding")
    func fromWithin() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            for file in files { try checked.plant(nil, at: checked.object(file)) }
            for runs in [false, true] {
                let lfs = try await checked.open()
                if runs { try lfs.start() }
                let told = Heard<FileID?>()
                var options = VerifyOptions()
                options.acceptsEmpty = true
                let code = await errorCode {
                    try await lfs.verify(options) { finding in
                        told.add(finding.fileID)
                        try await lfs.stop()
                    }
                }
                #expect(code == .notRunning)
                #expect(told.values.count == 1)
                try await lfs.stop()
            }
        }
    }

    @Test("waits for a stop that is under way, also of a manager that never ran")
    func twice() async throws {
        try await withHost { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            let (held, returned) = (DispatchSemaphore(value: 0), Heard<Int>())
            let isHeld = Latch()
            host.database.asyncWriteWithoutTransaction { _ in
                isHeld.open()
                // A bound, so that a failure ends.
                _ = held.wait(timeout: .now() + 600)
            }
            await isHeld.wait()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<3 {
                    group.addTask {
                        try await lfs.stop()
                        returned.add(caller)
                    }
                }
                // One has the writer to wait for, two have it.
                try await yield(while: returned.values.isEmpty && lfs.lifecycle.waiterCount < 2)
                #expect(returned.values == [])
                held.signal()
                try await group.waitForAll()
            }
            try await withManager(host) { _ in }
        }
    }

    @Test("by a reset goes before a second reset, and a stop waits for it")
    func resetTwice() async throws {
        try await withHost { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            let (held, begun, stopped) = (DispatchSemaphore(value: 0), Latch(), Heard<Int>())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await lfs.reset(.everythingIsUploaded) { _ in
                        begun.open()
                        // A bound, so that a failure ends.
                        _ = held.wait(timeout: .now() + 600)
                    }
                }
                await begun.wait()
                #expect(await errorCode { try await lfs.reset(.everythingIsUploaded) } == .notRunning)
                group.addTask {
                    try await lfs.stop()
                    stopped.add(1)
                }
                try await yield(while: stopped.values.isEmpty && lfs.lifecycle.waiterCount == 0)
                #expect(stopped.values == [])
                held.signal()
                try await group.waitForAll()
            }
            try await withManager(host) { _ in }
        }
    }
}

extension CheckedHost {
    fileprivate func open() async throws -> LFSManager {
        try await LFSManager.open(host.database, options: options)
    }
}
