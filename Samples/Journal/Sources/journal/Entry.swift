import ArgumentParser
import Foundation
import LFSStorage

@main
enum Entry {
    static func main() async {
        // The environment may contain the keys of a bucket.
        CoreDumps.disable()
        OpenFiles.raiseLimit()
        do throws(StorageError) {
            try Threads.check()
        } catch {
            // The first task would already need a thread. An error of this write cannot be reported.
            try? FileHandle.standardError.write(contentsOf: Data("journal: \(error.message)\n".utf8))
            exit(1)
        }
        await JournalCommand.main()
    }
}
