#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The library of Tests/Faults, if the process was started with it.
enum Faults {
    static func arm() { function("faults_arm", type: (@convention(c) () -> Void).self)?() }
    static func count() -> Int { function("faults_count", type: (@convention(c) () -> Int).self)?() ?? 0 }
    static func fired() -> Int { function("faults_fired", type: (@convention(c) () -> Int).self)?() ?? 0 }

    private static func function<Function>(_ name: String, type: Function.Type) -> Function? {
        dlsym(nil, name).map { unsafeBitCast($0, to: type) }
    }
}
