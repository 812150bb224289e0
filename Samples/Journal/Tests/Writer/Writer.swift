import Foundation
import JournalStorage
import LFS
import LFSStorage
import WriterScript

/// Writes a journal until it is killed, and confirms each completed step by a byte on the standard output.
///
///     journal-writer folder|database PATH SEED
@main
enum Writer {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let base = URL(filePath: arguments[2], directoryHint: .isDirectory)
        var script = WriterScript(seed: UInt64(arguments[3]) ?? 0)
        let journal: any FileStorageService
        if arguments[1] == "folder" {
            journal = LocalFileStorageService(folder: base.appending(path: "journal"))
        } else {
            let storage = try DirectoryStorage(at: base.appending(path: "remote"))
            let service = try await DatabaseStorageService.open(
                at: base.appending(path: "journal.sqlite"), options: LFSOptions(storage: storage))
            try service.lfs.start()
            journal = service
        }
        while true {
            try await script.next().perform(on: journal)
            try FileHandle.standardOutput.write(contentsOf: Data([1]))
        }
    }
}
