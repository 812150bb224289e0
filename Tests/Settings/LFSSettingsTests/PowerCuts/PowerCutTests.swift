import Foundation
import GRDB
import LFSSettings
import LFSSystem
import TestSupport
import Testing

@Suite("Power cuts of settings", .serialized, .timeLimit(.minutes(15)))
struct PowerCutTests {
    /// The number of cuts. `LFS_POWER_CUTS` sets another one.
    private static let cuts = Int(ProcessInfo.processInfo.environment["LFS_POWER_CUTS"] ?? "") ?? 40
    private static let stores: [Store] = [.durable, .file, .keychain, .encryptedFile]

    /// Every other cut comes right after a set has returned, before any other operation could sync it.
    @Test(
        "A durable, filed or sealed value survives a power cut",
        .enabled(if: CutDisk.isAvailable, "needs root to mount, mkfs.ext4, mkfs.xfs and xfs_io"),
        arguments: CutDisk.Kind.allCases)
    func cut(kind: CutDisk.Kind) async throws {
        var (told, lostControls, count) = (0, 0, 0)
        for round in 0..<Self.cuts {
            let result = try await CutDisk.with(kind) { disk, parent in
                let stop = round.isMultiple(of: 2) ? 8 + round / 2 : nil
                let lines = try await run(disk, parent: parent, until: stop ?? 9 + round * 7 % 40, staying: stop != nil)
                try disk.restart()
                let control = try? Data(contentsOf: disk.mount.child("app").child("control"))
                let isLost = control != Data("\(lines.count - 1)".utf8)
                try await check(disk.mount.child("app"), told: lines, comment: "\(kind), round \(round)")
                return (lines.count, isLost)
            }
            count += 1
            told += result.0
            // A process that continues has written more controls than it has reported.
            if round.isMultiple(of: 2), result.1 { lostControls += 1 }
        }
        print("power cuts of \(kind): \(count), sets told before: \(told), controls lost: \(lostControls)")
        #expect(lostControls > 0, "No control was lost: the cut shows nothing.")
    }

    /// Runs the helper, cuts the power once the helper has printed a number of lines, and returns these lines.
    ///
    /// - Parameter isStaying: true if the helper stops after these lines.
    private func run(
        _ disk: CutDisk, parent: URL, until count: Int, staying isStaying: Bool
    ) async throws -> [Substring] {
        let folder = disk.mount.child("app")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let (output, release) = (parent.child("output"), parent.child("release"))
        for pipe in [output, release] { try #require(mkfifo(pipe.path, 0o600) == 0) }
        // Both pipes are opened for reading and writing, so that opening does not block.
        let (lines, end) = (try FileHandle(forUpdating: output), try FileHandle(forUpdating: release))
        // If the helper inherited the descriptors, the pipes would stay open after this process is killed.
        for pipe in [lines, end] { try #require(fcntl(pipe.fileDescriptor, F_SETFD, FD_CLOEXEC) == 0) }
        let helper = HelperRun("cuts", in: folder, arguments: [String(isStaying ? count : 1_000_000), release.path])
        async let status = helper.status(output: output)
        let told = try await BlockingPool.foreign.run { _ in
            var text = Data()
            while text.count(where: { $0 == 0x0A }) < count {
                let more = lines.availableData
                if more.isEmpty { break }
                text.append(more)
            }
            return String(decoding: text, as: UTF8.self).split(separator: "\n")
        }
        let cut = Result { try disk.cutPower() }
        try end.write(contentsOf: Data([0x0A]))
        _ = try await status
        try cut.get()
        return told
    }

    private func check(_ folder: URL, told: [Substring], comment: String) async throws {
        var last: [String: Int] = [:]
        for line in told {
            let parts = line.split(separator: " ")
            // After the power cut the helper prints errors.
            guard parts.count == 2, parts[0].hasPrefix("cut."), let value = Int(parts[1]) else { continue }
            last[String(parts[0])] = value
        }
        #expect(last.count == Self.stores.count, "\(comment): \(told)")
        let keys: [StorageKey<Int>] = Self.stores.map { $0.key("cut.\($0.rawValue)") }
        let place = Place(folder: folder, database: try Place.database(in: folder))
        let storage = try await place.open { keys }
        for key in keys {
            let value = try await storage.getIfPresent(key)
            #expect(value ?? 0 >= last[key.name] ?? 0, "\(comment): \(key.name)")
            // The store still works.
            try await storage.set(-1, for: key)
            #expect(try await storage.get(key) == -1, "\(comment)")
        }
        try place.database.close()
    }
}
