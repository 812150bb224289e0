import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@Suite("Disks that are removed during use", .timeLimit(.minutes(10)))
struct PulledDiskTests {
    @Test(
        "The files on a removed disk wait and are uploaded when it is back",
        .enabled(if: PulledDisk.isAvailable, "needs root to mount, mkfs.ext4 and xfs_io"), arguments: [false, true])
    func waiting(_ isUnmounted: Bool) async throws {
        try await PulledDisk.with { disk in
            try await withHost { host in
                var options = host.options
                options.persistenceLocation = disk.folder.child("staging")
                try await withManager(host, options: options, starts: false) { lfs in
                    let file = try await lfs.makeFile(from: .bytes(someBytes()))
                    try await host.database.write { try file.insert($0) }
                    try disk.pull(isUnmounted: isUnmounted)
                    try lfs.start()
                    // Waits for more attempts than an unreadable file gets.
                    try await yield(while: host.count("lfs_job WHERE attempts < 15") > 0)
                    try #expect(host.count("lfs_job WHERE state = 'queued' AND errorCode = 'sourceAbsent'") == 1)
                    #expect(await errorCode { _ = try await lfs.contents(of: file) } == .folderAbsent)
                    let location = try #require(options.persistenceLocation)
                    let absent = try await lfs.absentFolders().map { $0.url.deletingLastPathComponent().path }
                    #expect(absent == [location.path])
                    var verifying = VerifyOptions()
                    verifying.repairs = true
                    try await #expect(lfs.verify(verifying).lostBytes == 0)

                    try disk.putBack(wasUnmounted: isUnmounted)
                    try await yield(while: host.file(file.id)?.status != .remote)
                    try await #expect(lfs.absentFolders().isEmpty)
                }
            }
        }
    }
}
