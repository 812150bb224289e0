#if canImport(ObjectiveC)
import ObjectiveC
#endif

/// Runs the body, and releases then what Apple's frameworks have autoreleased in it. A thread that runs for long and is
/// not Dispatch's would keep such objects until it ends.
package func withAutoreleasePool<Value>(_ body: () -> Value) -> Value {
    #if canImport(ObjectiveC)
    autoreleasepool(invoking: body)
    #else
    body()
    #endif
}
