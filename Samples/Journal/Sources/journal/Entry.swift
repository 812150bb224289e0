import ArgumentParser
import LFSStorage

@main
enum Entry {
    static func main() async {
        // The keys of a store are in the environment.
        CoreDumps.disable()
        OpenFiles.raiseLimit()
        await JournalCommand.main()
    }
}
