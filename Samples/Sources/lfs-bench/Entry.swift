import ArgumentParser
import BenchKit

@main
enum Entry {
    static func main() {
        // The command itself is in a library, so that tests reach its parts.
        Bench.main(nil)
    }
}
