import Foundation
import Testing

@Suite(
    "Case-insensitive disks",
    .enabled(if: CaselessDisk.isThere, "needs root, a loop device, mkfs.exfat and mount.exfat-fuse"),
    .timeLimit(.minutes(10)))
struct RestoreNameTests {
    private func pull(_ words: String..., in folder: URL) throws -> UploaderProcess.Result {
        let words = ["pull", "--database", "a.sqlite", "--progress", "none", "--all", "--output", "disk/out"] + words
        return try UploaderProcess(words, in: folder).wait()
    }

    private func withDisk(_ tree: String, _ body: (URL) throws -> Void) throws {
        try withFolder { folder in
            #expect(try RestoreTests.shell("cd files && \(tree)", in: folder))
            #expect(try RestoreTests.run("push", arguments: ["files"], in: folder).status == 0)
            try CaselessDisk.with(folder) { try body(folder) }
        }
    }

    private func content(_ name: String, in folder: URL) throws -> String {
        try String(contentsOf: folder.appendingPathComponent("disk/out/files/" + name), encoding: .utf8)
    }

    @Test("Names that differ only in case are reported as a conflict")
    func cases() throws {
        try withDisk("printf 1 > Photo.JPG; printf 22 > photo.jpg; printf 3 > other") { folder in
            var first: String?
            for pulled in [2, 0] {
                let run = try pull("--overwrite", in: folder)
                #expect(run.status == 3 && run.output.contains("\(pulled) pulled, 1 failed"), "\(run)")
                #expect(run.messages.contains("does not distinguish their names"), "\(run.messages)")
                let now = try content("photo.jpg", in: folder)
                if let first { #expect(now == first) }
                first = now
            }
            #expect(try content("other", in: folder) == "3")
        }
    }

    @Test("Folders that differ only in case are merged without replacing files")
    func folders() throws {
        try withDisk("mkdir Dir dir; printf 1 > Dir/x; printf 22 > dir/X; printf 3 > dir/y") { folder in
            let run = try pull("--overwrite", in: folder)
            #expect(run.status == 3 && run.output.contains("2 pulled, 1 failed"), "\(run)")
            #expect(try content("dir/y", in: folder) == "3")
        }
    }

    @Test("A pull overwrites a file of an earlier run whose name differs in case")
    func earlier() throws {
        try withDisk("printf 1 > Photo.JPG; printf 22 > other") { folder in
            #expect(
                try RestoreTests.shell("mkdir -p disk/out/files; printf old > disk/out/files/photo.jpg", in: folder))
            let run = try pull("--overwrite", in: folder)
            #expect(run.status == 0 && run.output.contains("2 pulled, 0 failed"), "\(run)")
            #expect(try content("Photo.JPG", in: folder) == "1")
        }
    }
}

/// A small exFAT disk, which ignores the case of names.
enum CaselessDisk {
    /// Indicates that this machine can mount such a disk.
    static let isThere: Bool = {
        guard isRoot else { return false }
        do {
            return try system("sh", "-c", "command -v mkfs.exfat mount.exfat-fuse losetup && test -w /dev/fuse")
        } catch {
            return false
        }
    }()

    /// Mounts a disk as the folder `disk` while the body runs.
    static func with(_ folder: URL, _ body: () throws -> Void) throws {
        // The driver continues as a process of its own. The shell closes inherited descriptors, because the driver
        // would keep this process waiting with them.
        let make = """
            mkdir disk && truncate -s 16M .image && mkfs.exfat .image && losetup -f --show .image > .loop || exit 1
            for d in /proc/$$/fd/*; do n=${d##*/}; [ $n -le 2 ] || eval "exec $n>&-"; done
            exec mount.exfat-fuse "$(cat .loop)" disk
            """
        try #require(try system("bash", "-c", "cd '\(folder.path)'; \(make)"))
        let result = Result { try body() }
        #expect(try RestoreTests.shell("umount disk; losetup -d \"$(cat .loop)\"", in: folder))
        try result.get()
    }
}
