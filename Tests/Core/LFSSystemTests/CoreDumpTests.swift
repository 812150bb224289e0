#if os(Linux)
import CLinux
import LFSSystem
import Testing

@Suite("Core dumps", .timeLimit(.minutes(10)))
struct CoreDumpTests {
    @Test("Disabling core dumps forbids the kernel to dump the process")
    func disable() async {
        await #expect(processExitsWith: .success) {
            #expect(lfs_is_dumpable() == 1)
            CoreDump.disable()
            #expect(lfs_is_dumpable() == 0)
        }
    }
}
#endif
