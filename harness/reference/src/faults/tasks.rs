//! Faults of the tasks of 2025-11-25.
//! What each does is at the place that asks for it, or stands in `forms`.

use super::{Fault, faults};

faults! { TASKS:
    TasksCapabilityFlag "tasks-capability-flag" T1 [Stdio Http]
        "tasks.list is declared by true"
        legacy ["tasks-capability-shape"];
    TaskFlatInCreate "task-flat-in-create" T1 [Stdio Http]
        "a call as a task is answered by the members of the task instead of the task"
        legacy ["tasks-create-result"]
        collateral_legacy ["tools-call-result-shape"];
    TaskIdNumber "task-id-number" T1 [Stdio Http]
        "the id of a task is a number"
        legacy ["tasks-id-string"]
        collateral_legacy ["tasks-get-flat-shape"];
    TaskStatusInvented "task-status-invented" T1 [Stdio Http]
        "a task is canceled, with one l"
        legacy ["tasks-status-enum"];
    TaskCreatedNumber "task-created-number" T1 [Stdio Http]
        "createdAt is a number of milliseconds"
        legacy ["tasks-createdat-present"];
    TaskUpdatedMissing "task-updated-missing" T1 [Stdio Http]
        "an entry in the list of tasks has no lastUpdatedAt"
        legacy ["tasks-lastupdatedat-present"];
    TaskTtlMissing "task-ttl-missing" T1 [Stdio Http]
        "an entry in the list of tasks has no ttl"
        legacy ["tasks-ttl-in-every-task-object"];
    TasksById "tasks-by-id" T1 [Stdio Http]
        "the list of tasks is an object"
        legacy ["tasks-list-shape"];
    TaskNestedInGet "task-nested-in-get" T1 [Stdio Http]
        "tasks/get answers with the task under a member of its own"
        legacy ["tasks-get-flat-shape"]
        collateral_legacy [
            "tasks-id-string" "tasks-status-enum" "tasks-createdat-present" "tasks-lastupdatedat-present"
            "tasks-ttl-in-every-task-object"
        ];
    TaskStatusBare "task-status-bare" T1 [Stdio Http]
        "a status notification holds nothing but id and status"
        legacy ["tasks-status-notification-full-task"]
        collateral_legacy [
            "tasks-createdat-present" "tasks-lastupdatedat-present" "tasks-ttl-in-every-task-object"
        ];
}
