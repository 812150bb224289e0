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

@Suite("Stopping a manager", .timeLimit(.minutes(10)))
struct StopTests {
    /// A gate that a stop can only open by cancellation. The mutex owns the flag.
    private final class Station: Sendable {
        let gate = Gate()
        private let left = Mutex(false)
        var isLeft: Bool { left.withLock { $0 } }

        func pass() async throws {
            defer { left.withLock { $0 = true } }
            try await gate.pass()
        }
    }

    @Test("A stop or reset ends a running verification, which then deletes nothing")
    func verification() async throws {
        for resets in [false, true] {
            try await withCheckedHost { checked in
                let files = try await checked.uploaded(3)
                let (lfs, station) = (try await checked.open(), Station())
                let first = Once()
                // The first listing only checks that the storage is the right one.
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

    @Test("Stopping the manager cancels a running eviction")
    func freeing() async throws {
        try await withHost { host in
            let (lfs, station) = (try await LFSManager.open(host.database, options: host.options), Station())
            try lfs.start()
            _ = try await keptFiles(2, host: host, lfs: lfs)
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

    @Test("A stop waits for the operations that it cancelled, even when run() ends", arguments: [true, false])
    func slowEnd(_ runs: Bool) async throws {
        try await withHost { host in
            let (lfs, returned) = (try await LFSManager.open(host.database, options: host.options), Heard<Int>())
            // The wait does not end when its task is cancelled.
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
                _ = try await keptFiles(1, host: host, lfs: lfs)
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
                // Recorded before the operation can end, so that a stop that does not wait would be recorded first.
                returned.add(0)
                held.open()
                _ = await outcome
                try await group.waitForAll()
                #expect(returned.values == [0, 1])
            }
        }
    }

    @Test("Stopping the manager ends the making of a file and leaves nothing of it")
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

    @Test("Stopping the manager ends the making of a file from an idle pipe")
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
            // Without the stop, closing the pipe would end the file normally.
            try writing.close()
            #expect(await outcome == .notRunning)
        }
    }

    @Test("A callback of a verification can stop the manager")
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

    @Test("Concurrent stops wait for each other, even if the manager never ran")
    func twice() async throws {
        try await withHost { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            let (held, returned) = (DispatchSemaphore(value: 0), Heard<Int>())
            let isHeld = Latch()
            host.database.asyncWriteWithoutTransaction { _ in
                isHeld.open()
                // The time limit ends the wait if the test fails.
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
                // One stop waits for the writer, and two stops wait for the first one.
                try await yield(while: returned.values.isEmpty && lfs.lifecycle.waiterCount < 2)
                #expect(returned.values == [])
                held.signal()
                try await group.waitForAll()
            }
            try await withManager(host) { _ in }
        }
    }

    @Test("A second reset fails during a reset, and a stop waits for the first one")
    func resetTwice() async throws {
        try await withHost { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            let (held, begun, stopped) = (DispatchSemaphore(value: 0), Latch(), Heard<Int>())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await lfs.reset(.everythingIsUploaded) { _ in
                        begun.open()
                        // The time limit ends the wait if the test fails.
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
